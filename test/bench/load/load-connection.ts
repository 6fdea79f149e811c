import { connect, type Socket } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
const EMPTY = Buffer.alloc(0)

interface Exchange {
  onBody: (chunk: Buffer) => void
  resolve: (status: number) => void
  reject: (error: Error) => void
}

/** Where the reader is in a response: its head, a body of known length, or one part of a chunked body. */
type Position = 'head' | 'length' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'last-line'

/**
 * One keep-alive HTTP/1.1 connection that carries one request at a time, written for little work a call, so
 * that the load generator takes as little as it can of the machine it measures.
 */
export class LoadConnection {
  readonly #url: URL
  #socket: Socket | null = null
  #exchange: Exchange | null = null
  #buffered: Buffer = EMPTY
  #position: Position = 'head'
  #status = 0
  #left = 0

  constructor(url: URL) {
    this.#url = url
  }

  /** Sends a request's bytes and resolves with the status when the response has come to its end. */
  send(request: Buffer, onBody: (chunk: Buffer) => void): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#exchange = { onBody, resolve, reject }
      this.#socket ??= this.#open()
      this.#socket.write(request)
    })
  }

  /** Closes the connection; a call on it fails for the reason. */
  close(reason?: Error): void {
    this.#socket?.destroy(reason)
  }

  #open(): Socket {
    const socket = connect({ port: Number(this.#url.port || 80), host: this.#url.hostname, noDelay: true })
    socket.on('data', (chunk) => this.#read(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the connection closed before the end of the response')))
    return socket
  }

  #fail(error: Error): void {
    this.#socket = null
    this.#buffered = EMPTY
    this.#position = 'head'
    const exchange = this.#exchange
    this.#exchange = null
    exchange?.reject(error)
  }

  #finish(): void {
    this.#position = 'head'
    const exchange = this.#exchange
    this.#exchange = null
    exchange?.resolve(this.#status)
  }

  #read(chunk: Buffer): void {
    let rest: Buffer | null = this.#buffered.length > 0 ? Buffer.concat([this.#buffered, chunk]) : chunk
    this.#buffered = EMPTY
    while (rest !== null && rest.length > 0) {
      const before: Buffer = rest
      rest = this.#step(rest)
      if (rest === null) this.#buffered = before
    }
  }

  /** Consumes what it can and returns the rest, or null when it needs more. */
  #step(data: Buffer): Buffer | null {
    switch (this.#position) {
      case 'head':
        return this.#readHead(data)
      case 'length':
      case 'chunk-data':
        return this.#readBody(data)
      case 'chunk-size':
        return this.#readChunkSize(data)
      case 'chunk-end':
      case 'last-line': {
        if (data.length < LINE_END.length) return null
        if (this.#position === 'last-line') this.#finish()
        else this.#position = 'chunk-size'
        return data.subarray(LINE_END.length)
      }
    }
  }

  #readHead(data: Buffer): Buffer | null {
    const end = data.indexOf(HEAD_END)
    if (end < 0) return null
    const head = data.toString('latin1', 0, end)
    this.#status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    this.#left = Number(length?.[1] ?? 0)
    this.#position = length ? 'length' : 'chunk-size'
    if (length && this.#left === 0) this.#finish()
    return data.subarray(end + HEAD_END.length)
  }

  #readBody(data: Buffer): Buffer {
    const part = data.length > this.#left ? data.subarray(0, this.#left) : data
    this.#left -= part.length
    this.#exchange?.onBody(part)
    if (this.#left === 0) {
      if (this.#position === 'length') this.#finish()
      else this.#position = 'chunk-end'
    }
    return data.subarray(part.length)
  }

  #readChunkSize(data: Buffer): Buffer | null {
    const end = data.indexOf(LINE_END)
    if (end < 0) return null
    this.#left = Number.parseInt(data.toString('latin1', 0, end), 16)
    this.#position = this.#left === 0 ? 'last-line' : 'chunk-data'
    return data.subarray(end + LINE_END.length)
  }
}

/** Receives one file. */
export interface FileSink {
  /** False if the file is too long. */
  push(chunk: Buffer): boolean
  end(): void
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d])
const BASE64 = /^[A-Za-z0-9+/=]*$/
/** The longest response without its files. */
const REST_BYTES_MAX = 256 * 1024

/**
 * Removes the texts of one field, which are base64, from a JSON text that comes in pieces, and puts their index, from
 * 0, in their place. States: between texts, in a text that is kept, in a text that is removed.
 */
export class FieldSplitter {
  readonly #name: Buffer
  readonly #open: () => FileSink | null
  #kept: Buffer[] = []
  #keptBytes = 0
  #state: 'between' | 'text' | 'file' = 'between'
  /** The text before the current position, if it can be the field's name. */
  #text = Buffer.alloc(0)
  /** Whether a colon follows the field's name. */
  #isNamed = false
  #isEscaped = false
  #file: FileSink | null = null
  #opened = 0

  /** @param open returns null if the response has too many files */
  constructor(name: string, open: () => FileSink | null) {
    this.#name = Buffer.from(name)
    this.#open = open
  }

  /** The JSON without the removed texts. */
  get rest(): string {
    return Buffer.concat(this.#kept).toString('utf8')
  }

  push(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length; ) {
      const next = this.#step(chunk, at)
      if (next === null) return false
      at = next
    }
    return this.#keptBytes <= REST_BYTES_MAX
  }

  /** Reads bytes up to the next change of state. Returns the position of the change; null if the bytes cannot be accepted. */
  #step(chunk: Buffer, at: number): number | null {
    switch (this.#state) {
      case 'between':
        return this.#between(chunk, at)
      case 'text':
        return this.#withinText(chunk, at)
      case 'file':
        return this.#withinFile(chunk, at)
      default:
        return this.#state satisfies never
    }
  }

  #between(chunk: Buffer, at: number): number | null {
    const quote = chunk.indexOf(QUOTE, at)
    const end = quote < 0 ? chunk.length : quote + 1
    const last = lastOf(chunk.subarray(at, quote < 0 ? end : quote))
    if (last !== undefined) this.#isNamed = last === COLON && this.#text.equals(this.#name)
    this.#keep(chunk.subarray(at, end))
    return quote >= 0 && !this.#begin() ? null : end
  }

  /** Begins a text. False if there are too many files. */
  #begin(): boolean {
    this.#text = Buffer.alloc(0)
    this.#state = this.#isNamed ? 'file' : 'text'
    if (!this.#isNamed) return true
    this.#isNamed = false
    this.#file = this.#open()
    this.#keep(Buffer.from(String(this.#opened++)))
    return this.#file !== null
  }

  #withinText(chunk: Buffer, at: number): number {
    let end = at
    while (end < chunk.length) {
      const byte = chunk[end++]!
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) {
        this.#state = 'between'
        break
      }
    }
    const piece = chunk.subarray(at, end)
    this.#keep(piece)
    if (this.#text.length <= this.#name.length) {
      const text = this.#state === 'between' ? piece.subarray(0, -1) : piece
      this.#text = Buffer.concat([this.#text, text.subarray(0, this.#name.length + 1)])
    }
    return end
  }

  #withinFile(chunk: Buffer, at: number): number | null {
    const quote = chunk.indexOf(QUOTE, at)
    const piece = chunk.subarray(at, quote < 0 ? chunk.length : quote)
    if (!BASE64.test(piece.toString('latin1')) || !this.#file!.push(piece)) return null
    if (quote < 0) return chunk.length
    this.#file!.end()
    this.#state = 'between'
    this.#keep(chunk.subarray(quote, quote + 1))
    return quote + 1
  }

  #keep(piece: Buffer): void {
    this.#keptBytes += piece.length
    if (this.#keptBytes <= REST_BYTES_MAX) this.#kept.push(Buffer.from(piece))
  }
}

/** The last byte that is not a space; undefined if there is none. */
function lastOf(bytes: Buffer): number | undefined {
  for (let index = bytes.length - 1; index >= 0; index--) {
    if (!SPACES.has(bytes[index]!)) return bytes[index]
  }
  return undefined
}

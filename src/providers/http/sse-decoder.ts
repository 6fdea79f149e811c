import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'

const LF = 10
const CR = 13
const SPACE = 32
/** The field name `data`. */
const [D, A, T] = Buffer.from('dat')
const NAME_BYTES = 4
const COLON = 58
const EMPTY = Buffer.alloc(0)
/** The pieces of a line are joined at this number, because each piece takes more memory than its bytes. */
const MAX_PIECES = 1024
const DEFAULT_MAX_EVENT_BYTES = 1024 * 1024

/**
 * Splits a server-sent event stream into the data of its events. The network may split the bytes anywhere, also
 * inside a character or between CR and LF. Lines are split as bytes and decoded whole, which is safe because no byte
 * of a multi-byte UTF-8 character equals a line end. Comments and fields other than `data` are skipped. Source: the
 * HTML standard, "Interpreting an event stream". Not `eventsource-parser`: it is as fast, but does not limit an event
 * within one chunk (decision 130).
 */
export class SseDecoder {
  readonly #onEvent: (data: string) => void
  readonly #maxEventBytes: number
  /** Pieces of an incomplete line. */
  #pieces: Buffer[] = []
  #pieceBytes = 0
  /** The data lines of the current event; null if it has none yet. */
  #data: string | null = null
  #dataBytes = 0
  #skipLineFeed = false
  #atStart = true

  constructor(onEvent: (data: string) => void, maxEventBytes = DEFAULT_MAX_EVENT_BYTES) {
    this.#onEvent = onEvent
    this.#maxEventBytes = maxEventBytes
  }

  /**
   * Reads the next bytes. False if an event exceeds the limit, however the network split it; the decoder cannot be
   * used after that.
   */
  push(chunk: Buffer): boolean {
    let start = 0
    if (this.#skipLineFeed && chunk.length > 0) {
      this.#skipLineFeed = false
      if (chunk[0] === LF) start = 1
    }
    let carriageReturn = chunk.indexOf(CR, start)
    while (start < chunk.length) {
      // Most streams have no CR; the next one is searched for only after the previous one is passed.
      if (carriageReturn >= 0 && carriageReturn < start) carriageReturn = chunk.indexOf(CR, start)
      const lineFeed = chunk[start] === LF ? start : chunk.indexOf(LF, start)
      const isCr = carriageReturn >= 0 && (lineFeed < 0 || carriageReturn < lineFeed)
      const end = isCr ? carriageReturn : lineFeed
      if (end < 0) break
      if (this.#pieceBytes + end - start > this.#bytesLeft) return false
      this.#line(chunk, start, end)
      start = end + 1
      if (!isCr) continue
      if (start === chunk.length) this.#skipLineFeed = true
      else if (chunk[start] === LF) start++
    }
    if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start))
    return this.#pieceBytes <= this.#bytesLeft
  }

  /** Ends the stream. An event whose final blank line is missing still counts. */
  end(): void {
    if (this.#pieceBytes > 0) this.#line(EMPTY, 0, 0)
    this.#dispatch()
  }

  /** The maximum length of the event's next line. */
  get #bytesLeft(): number {
    return this.#maxEventBytes - this.#dataBytes
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#pieceBytes += piece.length
    if (this.#pieces.length > MAX_PIECES) this.#pieces = [Buffer.concat(this.#pieces)]
  }

  #line(chunk: Buffer, start: number, end: number): void {
    let line = chunk
    if (this.#pieceBytes > 0) {
      line = Buffer.concat([...this.#pieces, chunk.subarray(start, end)])
      this.#pieces = []
      this.#pieceBytes = 0
      start = 0
      end = line.length
    }
    if (this.#atStart) {
      this.#atStart = false
      if (line[start] === 0xef && line[start + 1] === 0xbb && line[start + 2] === 0xbf) start += 3
    }
    if (start === end) this.#dispatch()
    else this.#field(line, start, end)
  }

  #field(line: Buffer, start: number, end: number): void {
    // Compares byte by byte, because comparing buffers takes longer than the rest of this method.
    if (line[start] !== D || line[start + 1] !== A || line[start + 2] !== T || line[start + 3] !== A) return
    const nameEnd = start + NAME_BYTES
    let value = nameEnd
    if (nameEnd < end) {
      if (line[nameEnd] !== COLON) return
      value++
      if (value < end && line[value] === SPACE) value++
    }
    this.#dataBytes += end - value
    const text = line.toString('utf8', value, end)
    this.#data = this.#data === null ? text : `${this.#data}\n${text}`
  }

  #dispatch(): void {
    if (this.#data === null) return
    const data = this.#data
    this.#data = null
    this.#dataBytes = 0
    this.#onEvent(data)
  }
}

/** Decodes a content-encoding as bytes arrive. */
export interface ContentDecoder {
  write(chunk: Buffer): void
  end(): void
  destroy(): void
}

interface DecodedContent {
  data(chunk: Buffer): void
  end(): void
  failure(error: Error): void
}

/**
 * Makes a streaming decoder for a content-encoding: `identity` if there is nothing to decode, `unsupported` for an
 * encoding that cannot be read. The gateway requests identity, but some providers compress regardless.
 */
export function createContentDecoder(
  encoding: string | undefined,
  output: DecodedContent,
): ContentDecoder | 'identity' | 'unsupported' {
  switch (encoding?.trim().toLowerCase() || 'identity') {
    case 'identity':
      return 'identity'
    case 'gzip':
    case 'x-gzip':
      return connect(createGunzip(), output)
    case 'br':
      return connect(createBrotliDecompress(), output)
    case 'deflate':
      return deflateDecoder(output)
    default:
      return 'unsupported'
  }
}

type Zlib = ReturnType<typeof createGunzip> | ReturnType<typeof createBrotliDecompress>

function connect(stream: Zlib, output: DecodedContent): ContentDecoder {
  stream.on('data', (chunk: Buffer) => output.data(chunk))
  stream.on('end', () => output.end())
  stream.on('error', (error) => output.failure(error))
  return {
    write: (chunk) => void stream.write(chunk),
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  }
}

/** `deflate` is zlib by the standard, and raw deflate on some servers; the first byte distinguishes them. */
function deflateDecoder(output: DecodedContent): ContentDecoder {
  let decoder: ContentDecoder | undefined
  return {
    write(chunk) {
      if (chunk.length === 0) return
      const isZlib = (chunk[0]! & 0x0f) === 0x08
      decoder ??= connect(isZlib ? createInflate() : createInflateRaw(), output)
      decoder.write(chunk)
    },
    end() {
      if (decoder) decoder.end()
      else output.end()
    },
    destroy: () => decoder?.destroy(),
  }
}

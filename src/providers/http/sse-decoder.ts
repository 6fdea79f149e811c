import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'

const LF = 10
const CR = 13
const SPACE = 32
/** The name of the field `data`. */
const [D, A, T] = Buffer.from('dat')
const NAME_BYTES = 4
const COLON = 58
const EMPTY = Buffer.alloc(0)
/** A line that comes byte by byte is joined now and then, or its pieces would weigh more than it does. */
const MAX_PIECES = 1024
const DEFAULT_MAX_EVENT_BYTES = 1024 * 1024

/**
 * Splits a server-sent event stream into the data of its events, whatever the network did to it: bytes may
 * be cut anywhere, also inside a character or between CR and LF. Lines are cut as bytes and decoded whole,
 * which is safe because no byte of a multi-byte UTF-8 character looks like a line end. Comments and fields
 * other than `data` are skipped. Source: the HTML standard, "Interpreting an event stream".
 * Not `eventsource-parser`: as fast, but it does not limit an event within one chunk (decision 130).
 */
export class SseDecoder {
  readonly #onEvent: (data: string) => void
  readonly #maxEventBytes: number
  /** Pieces of a line whose end has not come yet. */
  #pieces: Buffer[] = []
  #pieceBytes = 0
  /** Data lines of the event so far; null when there was none. */
  #data: string | null = null
  #dataBytes = 0
  #skipLineFeed = false
  #atStart = true

  constructor(onEvent: (data: string) => void, maxEventBytes = DEFAULT_MAX_EVENT_BYTES) {
    this.#onEvent = onEvent
    this.#maxEventBytes = maxEventBytes
  }

  /**
   * Takes the next bytes. False when one event grew beyond the limit, wherever the network cut it; the decoder is of
   * no use then.
   */
  push(chunk: Buffer): boolean {
    let start = 0
    if (this.#skipLineFeed && chunk.length > 0) {
      this.#skipLineFeed = false
      if (chunk[0] === LF) start = 1
    }
    let carriageReturn = chunk.indexOf(CR, start)
    while (start < chunk.length) {
      // Most streams have no CR at all; it is looked for again only once it has been passed.
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

  /** The stream is over. An event whose closing blank line never came still counts. */
  end(): void {
    if (this.#pieceBytes > 0) this.#line(EMPTY, 0, 0)
    this.#dispatch()
  }

  /** How long the next line of the event may be. */
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
    // Byte by byte: to compare buffers takes longer than all else here.
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

/** Undoes a content-encoding as bytes come in. */
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
 * A streaming decoder for a content-encoding; `identity` where there is nothing to undo, `unsupported` for
 * one that we never asked for and cannot read. We ask for identity, but some providers compress regardless.
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

/** `deflate` is zlib by the standard and raw deflate from some servers; the first byte tells. */
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

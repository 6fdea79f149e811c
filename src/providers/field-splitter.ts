/** Takes one file. */
export interface FileSink {
  /** False: it is too long. */
  push(chunk: Buffer): boolean
  end(): void
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d])
const BASE64 = /^[A-Za-z0-9+/=]*$/
/** Of a reply without its files. */
const REST_BYTES_MAX = 256 * 1024

/**
 * Takes the texts of one field, which are base64, out of a JSON text that comes in pieces, and puts their numbers in
 * their place: the first has 0. States: between texts, within one that is kept, within one that is taken out.
 */
export class FieldSplitter {
  readonly #name: Buffer
  readonly #open: () => FileSink | null
  #kept: Buffer[] = []
  #keptBytes = 0
  #state: 'between' | 'text' | 'file' = 'between'
  /** The text before, as far as it can be the name of the field. */
  #text = Buffer.alloc(0)
  /** A colon follows the name of the field. */
  #isNamed = false
  #isEscaped = false
  #file: FileSink | null = null
  #opened = 0

  /** @param open null: the reply has more files than may be */
  constructor(name: string, open: () => FileSink | null) {
    this.#name = Buffer.from(name)
    this.#open = open
  }

  /** What was kept, JSON. */
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

  /** Takes bytes up to the next change of state. Returns where that is; null: it cannot be taken. */
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

  /** A text begins. False: it is a file too many. */
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

/** The last byte that is no space; undefined: there is none. */
function lastOf(bytes: Buffer): number | undefined {
  for (let index = bytes.length - 1; index >= 0; index--) {
    if (!SPACES.has(bytes[index]!)) return bytes[index]
  }
  return undefined
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Escaped quotes tend to be frequent, and searching for each one costs more than reading every byte. */
const READ_BY_BYTE = 256

export interface JsonLimits {
  /** Levels of arrays and objects. */
  depth: number
  /** Names, entries, arrays and objects together. */
  values: number
}

export type JsonScan = 'ok' | 'too-deep' | 'too-many-values'

/**
 * Whether unparsed JSON is within limits: parsing takes seconds for a million levels or two million
 * names, and milliseconds for as many bytes of text. One pass over UTF-8 that skips strings and does not
 * validate.
 */
export function scanJson(json: Buffer, limits: JsonLimits): JsonScan {
  let level = 0
  let values = 0
  for (let index = 0; index < json.length; index++) {
    switch (json[index]) {
      case 0x5b: // [
      case 0x7b: // {
        if (++level > limits.depth) return 'too-deep'
        if (++values > limits.values) return 'too-many-values'
        break
      case 0x2c: // ,
      case 0x3a: // :
        if (++values > limits.values) return 'too-many-values'
        break
      case 0x5d: // ]
      case 0x7d: // }
        level--
        break
      case QUOTE:
        index = endOfString(json, index + 1)
        break
    }
  }
  return 'ok'
}

/** Index of the quote that closes the string whose text begins at `start`, or the end of the bytes. */
function endOfString(json: Buffer, start: number): number {
  let from = start
  while (from < json.length) {
    const quote = json.indexOf(QUOTE, from)
    if (quote < 0) return json.length
    let backslashes = 0
    while (quote - backslashes > from && json[quote - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote
    from = quote + 1
    for (const stop = Math.min(json.length, from + READ_BY_BYTE); from < stop; from++) {
      if (json[from] === BACKSLASH) from++
      else if (json[from] === QUOTE) return from
    }
  }
  return json.length
}

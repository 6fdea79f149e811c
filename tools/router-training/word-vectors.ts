import { readFileSync } from 'node:fs'
import {
  FULL_WEIGHT,
  SHRUNK_BY_WORDS,
  type WordMeaningsDocument,
} from '../../src/core/auto/difficulty/word-meanings.ts'

/** Static vectors of words, looked up by the hash that scanText computes. */
export interface WordVectors {
  dimensions: number
  /** The weighted mean vector of words, by hash; zero if none is known. */
  meanVector(words: readonly number[]): Float64Array
  /** Every word's product with a head over the components, as it is shipped. */
  meanings(head: ArrayLike<number>): WordMeaningsDocument
}

const HEADER_BYTES = 8
const LARGEST_BYTE = 127

/**
 * Reads a file of vectors. Its layout, little endian: uint32 count, uint32 dimensions, float32 scale[dimensions], uint32
 * hash[count] ascending, uint8 weight[count] (of 255: rarer words weigh more), int8 vector[count × dimensions].
 */
export function readWordVectors(path: string): WordVectors {
  const bytes = readFileSync(path)
  const count = bytes.readUInt32LE(0)
  const dimensions = bytes.readUInt32LE(4)
  let offset = HEADER_BYTES
  const next = (length: number) => {
    offset += length
    return Uint8Array.from(bytes.subarray(offset - length, offset)).buffer
  }
  const scale = new Float32Array(next(4 * dimensions))
  const hashes = new Uint32Array(next(4 * count))
  const weights = new Uint8Array(next(count))
  const vectors = new Int8Array(next(count * dimensions))
  if (vectors.length !== count * dimensions || offset !== bytes.length)
    throw new Error(`${path} is no file of word vectors: its length does not match its header`)
  const rows = new Map([...hashes].map((hash, row) => [hash, row]))
  const valueAt = (row: number, at: number) => vectors[row * dimensions + at]!
  return {
    dimensions,
    meanVector(words) {
      const sum = new Float64Array(dimensions)
      let total = SHRUNK_BY_WORDS * FULL_WEIGHT
      for (const hash of words) {
        const row = rows.get(hash >>> 0)
        if (row === undefined) continue
        total += weights[row]!
        for (let at = 0; at < dimensions; at++) sum[at]! += weights[row]! * valueAt(row, at)
      }
      return sum.map((value, at) => (value * scale[at]!) / total)
    },
    meanings(head) {
      const products = Float64Array.from(weights, (_, row) => {
        let sum = 0
        for (let at = 0; at < dimensions; at++) sum += head[at]! * scale[at]! * valueAt(row, at)
        return sum
      })
      const unit = products.reduce((most, product) => Math.max(most, Math.abs(product)), 1e-9) / LARGEST_BYTE
      const base64 = (column: ArrayBuffer) => Buffer.from(column).toString('base64')
      return {
        unit,
        hashes: base64(hashes.buffer),
        weights: base64(weights.buffer),
        products: base64(Int8Array.from(products, (product) => Math.round(product / unit)).buffer),
      }
    },
  }
}

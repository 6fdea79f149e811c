import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  FULL_WEIGHT,
  SHRUNK_BY_WORDS,
  type WordMeaningsDocument,
} from '../../core/auto/difficulty/word-meanings.ts'

/**
 * Static vectors of 29,192 English words, derived from all-MiniLM-L6-v2 (see NOTICE): each word alone through the
 * encoder, principal axes of the words, one signed byte a component. Looked up by the hash that scanText computes.
 *
 * Layout of the file, little endian: uint32 count, uint32 dimensions, float32 scale[dimensions], uint32 hash[count] ascending,
 * uint8 weight[count] (of 255: rarer words weigh more), int8 vector[count × dimensions].
 */
const HEADER_BYTES = 8

let loaded: ReturnType<typeof readWordVectors> | undefined

/** Loaded once, when first needed. */
const wordVectors = () => (loaded ??= readWordVectors())

function readWordVectors() {
  const bytes = readFileSync(join(import.meta.dirname, 'word-vectors.bin'))
  const count = bytes.readUInt32LE(0)
  const dimensions = bytes.readUInt32LE(4)
  if (dimensions !== DIMENSIONS) throw new Error('word-vectors.bin has other dimensions than the code')
  let offset = HEADER_BYTES
  const next = (length: number) => {
    const start = bytes.byteOffset + offset
    offset += length
    return bytes.buffer.slice(start, start + length)
  }
  const scale = new Float32Array(next(4 * dimensions))
  const hashes = new Uint32Array(next(4 * count))
  const weights = new Uint8Array(next(count))
  const vectors = new Int8Array(next(count * dimensions))
  const rows = new Map([...hashes].map((hash, row) => [hash, row]))
  return { scale, hashes, weights, vectors, rows }
}

export const DIMENSIONS = 64

/** The weighted mean vector of words, by hash; zero if none is known. */
export function meanVector(words: readonly number[]): Float64Array {
  const { scale, weights, vectors, rows } = wordVectors()
  const sum = new Float64Array(DIMENSIONS)
  let total = SHRUNK_BY_WORDS * FULL_WEIGHT
  for (const hash of words) {
    const row = rows.get(hash >>> 0)
    if (row === undefined) continue
    const weight = weights[row]!
    total += weight
    for (let at = 0; at < DIMENSIONS; at++) sum[at]! += weight * vectors[row * DIMENSIONS + at]!
  }
  return sum.map((value, at) => (value * scale[at]!) / total)
}

const LARGEST_BYTE = 127

/** Every word's product with a head over the components, as it is shipped. */
export function wordMeanings(head: ArrayLike<number>): WordMeaningsDocument {
  const { scale, hashes, weights, vectors } = wordVectors()
  const products = Float64Array.from(weights, (_, row) => {
    let sum = 0
    for (let at = 0; at < DIMENSIONS; at++) sum += head[at]! * scale[at]! * vectors[row * DIMENSIONS + at]!
    return sum
  })
  const unit = products.reduce((most, product) => Math.max(most, Math.abs(product)), 1e-9) / LARGEST_BYTE
  const bytes = Int8Array.from(products, (product) => Math.round(product / unit))
  const base64 = (column: ArrayBuffer) => Buffer.from(column).toString('base64')
  return {
    unit,
    hashes: base64(hashes.buffer),
    weights: base64(weights.buffer),
    products: base64(bytes.buffer),
  }
}

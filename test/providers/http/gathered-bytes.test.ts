import { expect, test } from 'vitest'
import { GatheredBytes } from '../../../src/providers/http/gathered-bytes.ts'
import { collectedHeapBytes } from '../../helpers/collected-heap.ts'

const TOTAL_BYTES = 4 * 1024 * 1024

test('pieces of any size come back whole and in order', () => {
  const gathered = new GatheredBytes()
  const sizes = [1, 5_000, 2, 3, 1_024, 1_023, 0, 70_000, 1]
  const pieces = sizes.map((size, index) => Buffer.alloc(size, index + 1))
  for (const piece of pieces) gathered.push(piece)
  for (let byte = 0; byte < 5_000; byte++) gathered.push(Buffer.from([byte % 256]))
  const last = Buffer.from(Array.from({ length: 5_000 }, (_, byte) => byte % 256))
  expect(gathered.take().equals(Buffer.concat([...pieces, last]))).toBe(true)
  expect(gathered.take().length).toBe(0)
})

test('a body that comes byte by byte takes little more room than its bytes', () => {
  const gathered = new GatheredBytes()
  const body = Buffer.alloc(TOTAL_BYTES, 'a')
  const before = collectedHeapBytes()
  for (let at = 0; at < body.length; at++) gathered.push(body.subarray(at, at + 1))
  // As buffers of their own the bytes take a hundred times as much.
  expect(collectedHeapBytes() - before).toBeLessThan(16 * TOTAL_BYTES)
  expect(gathered.take().equals(body)).toBe(true)
})

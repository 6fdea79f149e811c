import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { drawnFirst } from '../../../src/core/routing/drawn-first.ts'

test('a conversation starts with one of the weighted models, and the others follow in their order', () => {
  const models = ['a/one', 'b/two', 'c/three']
  const conversations = Array.from({ length: 4_000 }, (_, index) => crc32(`conversation-${index}`))
  const orders = (weights: number[]) => conversations.map((hash) => drawnFirst(models, weights, hash).join())
  const [before, after] = [orders([85, 15, 0]), orders([75, 25, 0])]
  expect(orders([85, 15, 0])).toEqual(before)
  expect(new Set(before)).toEqual(new Set(['a/one,b/two,c/three', 'b/two,a/one,c/three']))
  expect(before.filter((order) => order.startsWith('b')).length / 4_000).toBeCloseTo(0.15, 1)
  // A larger weight takes conversations to its model, and none away from it.
  const isKept = before.every((order, index) => order.startsWith('a') || after[index] === order)
  expect(isKept).toBe(true)
})

import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { chooseKey, type KeyStanding } from '../../../src/core/routing/key-pool.ts'

const KEYS = [
  { id: 'one', weight: 1 },
  { id: 'two', weight: 1 },
  { id: 'three', weight: 2 },
]
const CONVERSATIONS = Array.from({ length: 4_000 }, (_, index) => crc32(`conversation-${index}`))

const chosen = (affinity: number, keys = KEYS, standings: Record<string, KeyStanding> = {}) =>
  chooseKey(keys, { affinity, standing: ({ id }) => standings[id] ?? 'ready' })?.id ?? null

test('keys get conversations in proportion to their weights', () => {
  const counts = { one: 0, two: 0, three: 0 } as Record<string, number>
  for (const affinity of CONVERSATIONS) counts[chosen(affinity)!]!++
  for (const { id, weight } of KEYS) expect(counts[id]! / CONVERSATIONS.length).toBeCloseTo(weight / 4, 1)
})

test('a key that leaves, rests or comes moves only the conversations that are or will be its own', () => {
  const without = KEYS.slice(1)
  for (const affinity of CONVERSATIONS) {
    const before = chosen(affinity)
    const meanwhile = chosen(affinity, KEYS, { one: 'out' })
    expect(meanwhile).toBe(chosen(affinity, without))
    if (before !== 'one') expect(meanwhile).toBe(before)
  }
})

test('a key near its limit is used only if no other is ready, and a key that is out never', () => {
  for (const affinity of CONVERSATIONS.slice(0, 200)) {
    expect(chosen(affinity, KEYS, { one: 'spare', three: 'out' })).toBe('two')
    expect(chosen(affinity, KEYS, { one: 'out', two: 'spare', three: 'out' })).toBe('two')
    expect(chosen(affinity, KEYS, { one: 'out', two: 'out', three: 'out' })).toBeNull()
  }
})

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ReadingTurns } from '../../../src/providers/http/reading-turns.ts'

const KIB = 1024

test('stops the answers of an account beyond its share of a turn, and no one else', async () => {
  const turns = new ReadingTurns()
  const resumed: string[] = []
  const read = (account: string, answer: string, bytes: number) =>
    turns.read(account, bytes, () => resumed.push(answer))

  expect(read('flood', 'a', 20 * KIB)).toBe(true)
  expect(read('flood', 'b', 20 * KIB)).toBe(false)
  expect(read('flood', 'c', 1)).toBe(false)
  expect(read('quiet', 'd', 20 * KIB)).toBe(true)

  // One a turn, in the order in which they were stopped.
  await nextTurn()
  expect(resumed).toEqual(['b'])
  expect(read('flood', 'b', 64 * KIB)).toBe(false)
  expect(read('quiet', 'd', 20 * KIB)).toBe(true)
  await nextTurn()
  expect(resumed).toEqual(['b', 'c'])
  await nextTurn()
  expect(resumed).toEqual(['b', 'c', 'b'])

  // A new turn is a new share.
  await nextTurn()
  expect(read('flood', 'a', 20 * KIB)).toBe(true)
})

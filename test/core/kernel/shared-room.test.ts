import { expect, test } from 'vitest'
import { createSharedRoom } from '../../../src/core/kernel/shared-room.ts'

/** Takes one after another while there is room; returns how many. */
function fill(room: ReturnType<typeof createSharedRoom>, account: string, share?: number): number {
  let taken = 0
  while (room.fits(account, 1, share)) {
    room.add(account, 1)
    taken++
  }
  return taken
}

test('an account that holds few finds room, whatever those before it took', () => {
  const room = createSharedRoom({ max: 1_000, few: 10 })
  const taken = Array.from({ length: 9 }, (_, index) => fill(room, `account ${index}`))
  expect(taken).toEqual([438, 219, 109, 55, 27, 14, 10, 10, 10])
  expect(fill(room, 'quiet')).toBe(10)
})

test('accounts that take turns hold the same', () => {
  const room = createSharedRoom({ max: 1_000, few: 0 })
  const counts = new Map([
    ['a', 0],
    ['b', 0],
    ['c', 0],
  ])
  for (let turn = 0; turn < 1_000; turn++) {
    for (const [account, count] of counts) {
      if (!room.fits(account, 1)) continue
      room.add(account, 1)
      counts.set(account, count + 1)
    }
  }
  expect([...counts.values()]).toEqual([219, 219, 219])
})

test('a larger share leaves less to others, but never nothing', () => {
  const room = createSharedRoom({ max: 1_000, few: 0 })
  expect(fill(room, 'a', 4)).toBe(700)
  expect(fill(room, 'b', 4)).toBe(140)
  expect(room.fits('c', 1)).toBe(true)
})

test('never holds more than there is, and takes everything back', () => {
  const room = createSharedRoom({ max: 10, few: 0 })
  expect(room.fits('a', 11, 8)).toBe(false)
  expect(room.fits('a', 9, 8)).toBe(true)
  room.add('a', 9)
  expect(room.fits('b', 2, 8)).toBe(false)
  room.add('a', -9)
  expect(room.fits('b', 9, 8)).toBe(true)
})

import { expect, test } from 'vitest'
import { formatCallPosition, parseCallPosition } from '../../../src/core/billing/call-cursor.ts'

test('a cursor is what it was made of, up to the largest figure that the database takes', () => {
  for (const value of [0n, -(2n ** 63n), 2n ** 63n - 1n]) {
    const position = { isEnd: value > 0n, value, id: 'chatcmpl_1' }
    expect(parseCallPosition(formatCallPosition(position))).toEqual(position)
  }
})

test('a forged cursor is refused as invalid', () => {
  for (const value of [2n ** 63n, -(2n ** 63n) - 1n, 9_999_999_999_999_999_999n])
    expect(parseCallPosition(formatCallPosition({ isEnd: false, value, id: '' }))).toBeNull()
  expect(parseCallPosition('no cursor')).toBeNull()
})

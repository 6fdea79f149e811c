import { expect, test } from 'vitest'
import { Interrupted, runInterruptibly } from '../../../src/platform/process/interruptible.ts'

const LONG_MS = 60_000

test.each<[string, () => unknown]>([
  [
    'a loop, also one at its end',
    () => {
      try {
        for (;;);
      } finally {
        for (;;);
      }
    },
  ],
  ['a regular expression', () => /^(a+)+$/.test(`${'a'.repeat(64)}b`)],
  [
    'a value that shares its parts, as JSON',
    () => {
      let value: object = {}
      for (let deep = 0; deep < 64; deep++) value = { a: value, b: value }
      return JSON.stringify(value)
    },
  ],
])('%s that would take for ever is interrupted', (_which, run) => {
  expect(() => runInterruptibly(1, run)).toThrow(Interrupted)
})

test('returns what the function makes, and throws what it throws', () => {
  const made = { a: [1] }
  expect(runInterruptibly(LONG_MS, () => made)).toBe(made)
  const error = new TypeError('of its own')
  const run = () => {
    throw error
  }
  expect(() => runInterruptibly(LONG_MS, run)).toThrow(error)
})

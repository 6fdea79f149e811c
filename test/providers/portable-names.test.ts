import fc from 'fast-check'
import { expect, test } from 'vitest'
import { portableName } from '../../src/providers/portable-names.ts'

test('names are taken by every wire, the same for the same, and others for others', () => {
  const names = fc.oneof(fc.string({ minLength: 1, maxLength: 200 }), fc.stringMatching(/^[a-z]{60,80}$/))
  fc.assert(
    fc.property(names, names, (one, other) => {
      expect(portableName(one)).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/)
      expect(portableName(one) === portableName(other)).toBe(one === other)
    }),
    { numRuns: 500 },
  )
})

test('a portable name stays as it is', () => {
  expect(portableName('find_train')).toBe('find_train')
  expect(portableName('a'.repeat(64))).toBe('a'.repeat(64))
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isBase64, isPlainBase64 } from '../../../src/core/media/data-url.ts'

const PATTERN = /^[A-Za-z0-9+/\r\n]+(?:={1,2}[\r\n]*)?$/
/** Longer than what is decoded at once. */
const LONG = 'QUJD'.repeat(20_000)

const pieces = fc.constantFrom(
  'QUJD',
  'Q',
  'QU',
  '+/',
  '=',
  '==',
  '-',
  '_',
  '!',
  ' ',
  '\n',
  '\r\n',
  '\0',
  'é',
  '€',
)

test('base64 is recognized as by a pattern, wherever a text differs from it', () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 6 }), fc.array(pieces, { maxLength: 3 }), (before, after) => {
      for (const middle of ['', LONG]) {
        const text = [...before, middle, ...after].join('')
        expect(isBase64(text), JSON.stringify([before, after])).toBe(PATTERN.test(text))
        if (isPlainBase64(text)) expect(text).toMatch(/^[A-Za-z0-9+/]+={0,2}$/)
      }
    }),
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundedJson } from '../../../src/core/json/bounded-json.ts'

test('what is short enough stays as it is', () => {
  const value = { a: ['é', 1, null, true], b: { c: 'text' } }
  expect(boundedJson(value, 1_000)).toEqual({ text: JSON.stringify(value), isTruncated: false })
  expect(boundedJson(undefined, 10)).toEqual({ text: 'null', isTruncated: false })
})

test('long strings are cut, say by how much, and leave JSON', () => {
  const { text, isTruncated } = boundedJson({ a: 'x'.repeat(500), b: 'no more' }, 400)
  expect(isTruncated).toBe(true)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(400)
  expect(JSON.parse(text)).toEqual({
    a: `${'x'.repeat(300)} [200 more characters]`,
    b: ' [7 more characters]',
  })
})

test('an image leaves room for the text after it', () => {
  const image = `data:image/png;base64,${'A'.repeat(10_000)}`
  const { text, isTruncated } = boundedJson([image, 'What is this?'], 1_000)
  expect(isTruncated).toBe(true)
  expect(JSON.parse(text)).toEqual([
    expect.stringMatching(/^data:image\/png;base64,A+ \[\d+ more characters\]$/),
    'What is this?',
  ])
})

test('whatever the value is, the text is within its bytes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), fc.integer({ min: 0, max: 200 }), (value, max) => {
      const { text, isTruncated } = boundedJson(value, max)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max)
      if (!isTruncated) expect(text).toBe(JSON.stringify(value))
    }),
  )
})

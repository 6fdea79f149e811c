import { afterEach, describe, expect, test, vi } from 'vitest'
import { parseClientJson } from '../../../src/core/json/client-json.ts'
import { LONG_CHARS, markLongStrings } from '../../../src/core/json/long-strings.ts'

const LIMITS = { depth: 256, values: 100_000, bytes: 4_096 }
const PICTURE = 'iVBORw0KGgo+'.repeat(LONG_CHARS / 10)
const URL = `data:image/png;base64,${PICTURE}==`

const parsed = (json: string, limits: Partial<typeof LIMITS> = LIMITS) =>
  parseClientJson(Buffer.from(json), { ...LIMITS, ...limits })

/** Runs with the lengths noted of all JSON that is parsed and written. */
function lengths<T>(run: () => T): { result: T; longest: number } {
  const parse = vi.spyOn(JSON, 'parse')
  const stringify = vi.spyOn(JSON, 'stringify')
  const result = run()
  const texts = [
    ...parse.mock.calls.map(([text]) => text),
    ...stringify.mock.results.map(({ value }) => value),
  ]
  return { result, longest: Math.max(...texts.map((text) => String(text).length)) }
}

describe('a long picture in a body', () => {
  afterEach(() => vi.restoreAllMocks())

  test.each([
    ['a data URL', { content: [{ text: 'é "a" \u2028' }, { image_url: { url: URL } }] }],
    ['base64 alone', { source: { data: PICTURE } }],
    ['two of them, and short ones', [URL, 'QUJD', { url: PICTURE, next: `${URL.slice(0, -2)}=` }]],
  ])('is no part of what is parsed: %s', (_, value) => {
    const json = JSON.stringify(value)
    const { result, longest } = lengths(() => parsed(json))
    expect(result).toEqual({ kind: 'value', value, exact: undefined })
    expect(longest).toBeLessThan(1_000)
  })

  test.each([
    ['prose', { text: 'Tell me about rail yards. '.repeat(LONG_CHARS / 10) }],
    ['base64 and then prose', { text: `${PICTURE} and this` }],
    ['the alphabet of URLs', { text: `${PICTURE}-_` }],
    ['lines', { data: `${PICTURE}\r\n${PICTURE}` }],
    ['other characters in its type', { url: URL.replace('png', 'p"ng') }],
    ['a name', { [PICTURE]: 1 }],
  ])('is parsed with the rest where it is not base64 alone: %s', (_, value) => {
    const json = JSON.stringify(value)
    expect(parsed(json)).toEqual({ kind: 'too-long' })
    expect(parsed(json, { bytes: json.length })).toMatchObject({ value })
  })

  test('that is given twice counts the second time, and one of a prototype not at all', () => {
    const twice = `{"url":"${URL}","url":"short"}`
    expect(parsed(twice)).toEqual({ kind: 'too-long' })
    expect(parsed(twice, { bytes: twice.length })).toMatchObject({ value: { url: 'short' } })
    const proto = `{"__proto__":{"url":"${URL}"},"url":"short"}`
    const { value } = parsed(proto, { bytes: proto.length }) as { value: object }
    expect(Object.entries(value)).toEqual([['url', 'short']])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  })

  test.each([`{"url":"${URL}`, `{"url":"${URL}"`, `{\\"url":"${URL}"}`, `["${URL}" "${URL}"]`])(
    'does not make broken JSON valid (%#)',
    (json) => {
      expect(parsed(json)).toEqual({ kind: 'invalid' })
    },
  )

  test('does not count among what is parsed at once, and other text does', () => {
    expect(parsed(JSON.stringify({ url: URL, text: 'a b '.repeat(1_000) }))).toMatchObject({ kind: 'value' })
    expect(parsed(JSON.stringify({ url: URL, text: 'a b '.repeat(1_100) }))).toEqual({ kind: 'too-long' })
  })
})

describe('JSON with long strings', () => {
  afterEach(() => vi.restoreAllMocks())

  test('is written around them, byte for byte as otherwise', () => {
    const tools = [{ name: 'é' }]
    const given = { tools, messages: [{ text: '"é"' }, { data: PICTURE }, { url: 'short', data: PICTURE }] }
    const expected = JSON.stringify({ ...given, url: URL })
    const { result, longest } = lengths(() => {
      const { value, restore } = markLongStrings(given)
      expect(value.tools).toBe(tools)
      return restore(JSON.stringify({ ...value, url: `data:image/png;base64,${value.messages[1]!.data}==` }))
    })
    expect(result.toString()).toBe(expected)
    expect(longest).toBeLessThan(1_000)
    expect(given.messages[1]!.data).toBe(PICTURE)
  })

  test('stays text where there are none', () => {
    const given = { text: 'a b '.repeat(LONG_CHARS), data: 'QUJD' }
    const { value, restore } = markLongStrings(given)
    expect(value).toBe(given)
    expect(restore('{}')).toBe('{}')
  })
})

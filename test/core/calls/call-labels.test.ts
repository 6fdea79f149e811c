import { describe, expect, test } from 'vitest'
import { readCallLabels } from '../../../src/core/calls/call-labels.ts'

const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1')

describe('what a client says about its call', () => {
  test('is the app, its address without anything private, and texts of metadata', () => {
    expect(
      readCallLabels(
        {
          'x-title': latin1('Fahrplan für Züge'),
          'http-referer': 'https://user:secret@app.example/chat/?token=1#top',
        },
        { messages: [], metadata: { run: 'nightly', customer: ' 42 ', attempts: 3, nested: { a: 'b' } } },
      ),
    ).toEqual({
      title: 'Fahrplan für Züge',
      referer: 'app.example/chat',
      metadata: { run: 'nightly', customer: '42' },
    })
  })

  test.each([
    [{}, { messages: [] }],
    [{ 'x-title': '  ', 'http-referer': 'about:blank' }, { metadata: {} }],
    [{ 'x-title': ['a', 'b'], 'http-referer': '::' }, { metadata: ['a'] }],
    [{}, { metadata: 'text' }],
    [{}, { metadata: { a: 1, b: null, c: '\u0000' } }],
    [{}, null],
    [{}, 'text'],
  ])('is nothing where nothing usable was sent: %j, %j', (headers, body) => {
    expect(readCallLabels(headers, body)).toBeUndefined()
  })

  test('is bounded, and always text that PostgreSQL takes', () => {
    const pairs = Array.from({ length: 100 }, (_, index) => [
      `${'k'.repeat(100)}${index}`,
      'v'.repeat(10_000),
    ])
    const labels = readCallLabels(
      { 'x-title': 'x'.repeat(8_000), 'http-referer': `https://app.example/${'p'.repeat(700)}` },
      { metadata: { odd: 'a\u0000b\ud83d', ...Object.fromEntries(pairs) } },
    )
    expect(labels?.metadata?.odd).toBe('a b\ufffd')
    expect(Object.keys(labels?.metadata ?? {}).length).toBeLessThanOrEqual(8)
    expect(JSON.stringify(labels).length).toBeLessThan(1_600)
  })
})

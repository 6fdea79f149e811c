import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SseDecoder } from '../../../src/providers/http/sse-decoder.ts'

function decode(pieces: Buffer[]): string[] {
  const events: string[] = []
  const decoder = new SseDecoder((data) => events.push(data))
  for (const piece of pieces) decoder.push(piece)
  decoder.end()
  return events
}

function splitAt(bytes: Buffer, cuts: number[]): Buffer[] {
  const points = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...points].map((start, index) => bytes.subarray(start, points[index] ?? bytes.length))
}

const line = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
  fc.constantFrom(
    'data:no space',
    'data',
    ': comment',
    'event: named',
    'id: 7',
    'retry: 10',
    'datax: not data',
    '',
  ),
)
const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
const stream = fc
  .array(fc.tuple(line, lineEnd), { maxLength: 30 })
  .map((lines) => Buffer.from(lines.map(([text, end]) => text + end).join('')))

describe('SseDecoder', () => {
  test('any split of the bytes gives the same events', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 20 }), (bytes, cuts) => {
        expect(decode(splitAt(bytes, cuts))).toEqual(decode([bytes]))
      }),
    )
  })

  test('a stream cut at every byte, also inside characters, keeps its text', () => {
    const text = 'é😀漢字 "quoted" \\n'
    const bytes = Buffer.from(`data: ${text}\r\n\r\ndata: ${text}\n\n`)
    expect(decode([...bytes].map((byte) => Buffer.from([byte])))).toEqual([text, text])
  })

  test('the line ends LF, CRLF and CR mean the same', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      expect(decode([Buffer.from(`data: a${end}${end}data: b${end}data: c${end}${end}`)])).toEqual([
        'a',
        'b\nc',
      ])
    }
  })

  test('comments, other fields and a byte order mark are skipped', () => {
    const bytes = Buffer.from('\ufeffdata: a\n\n: keep-alive\n\nevent: ping\ndata: b\nid: 1\n\n')
    expect(decode([bytes])).toEqual(['a', 'b'])
  })

  test('an event without its closing blank line or line end still counts', () => {
    expect(decode([Buffer.from('data: a\n\ndata: [DONE]')])).toEqual(['a', '[DONE]'])
  })

  test('an event is delivered with its blank line, not with the next event', () => {
    const events: string[] = []
    const decoder = new SseDecoder((data) => events.push(data))
    decoder.push(Buffer.from('data: a\r\n\r'))
    expect(events).toEqual(['a'])
    decoder.push(Buffer.from('\ndata: b\r\n\r\n'))
    expect(events).toEqual(['a', 'b'])
  })

  test('an event beyond the limit is refused, in one line or in many', () => {
    expect(new SseDecoder(() => undefined, 100).push(Buffer.from(`data: ${'x'.repeat(200)}`))).toBe(false)
    expect(new SseDecoder(() => undefined, 100).push(Buffer.from('data: 123456789\n'.repeat(20)))).toBe(false)
    expect(new SseDecoder(() => undefined, 100).push(Buffer.from('data: 123456789\n\n'.repeat(20)))).toBe(
      true,
    )
  })

  test('an event beyond the limit is refused wherever its bytes are cut', () => {
    const bytes = Buffer.from(`data: ${'x'.repeat(120)}\n\n`)
    for (let cut = 0; cut <= bytes.length; cut++) {
      const decoder = new SseDecoder(() => expect.unreachable(), 100)
      expect(splitAt(bytes, [cut]).every((piece) => decoder.push(piece))).toBe(false)
    }
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CompletionEvent } from '../../src/core/calls/completion.ts'
import { ChatReader, openReader } from '../../src/providers/chat-completions.ts'

describe('PatternReader', () => {
  const read = (event: ChatReader['event'], data: string) => {
    const events: CompletionEvent[] = []
    const signal = event(data, (one) => events.push(one))
    return { signal, events }
  }

  const AROUND = [
    ['{"id":"a","choices":[{"index":0,"delta":{"content":', '},"finish_reason":null}]}'],
    ['{"id": "a", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ', '}}]}'],
    ['{"choices":[{"delta":{"content":', '},"finish_reason":"stop"}],"usage":null}'],
    ['{"choices":[{"delta":{"content":"x","content":', '}}]}'],
    ['{"choices":[{"delta":{"content":', ',"content":"x"}}]}'],
    ['{"choices":[{"logprobs":{"content":"x"},"delta":{"content":', '}}]}'],
    ['{"choices":[{"delta":{"content":"x"},"logprobs":{"content":', '}}]}'],
  ] as const
  const json = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.string().map((text) => `"${text}"`),
    fc.constantFrom(
      '"a"',
      '""',
      'null',
      '"a","b"',
      '"a","finish_reason":"stop"',
      '"a"},"x":{"y":1',
      '"a',
      '[]',
    ),
  )
  const event = fc
    .tuple(fc.constantFrom(...AROUND), json)
    .map(([[before, after], text]) => `${before}${text}${after}`)

  test('events that differ in their text alone mean what each of them means by itself', () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 12 }), (stream) => {
        const reader = openReader()
        for (const data of stream)
          expect(read((...event) => reader.event(...event), data)).toEqual(
            read((...event) => new ChatReader().event(...event), data),
          )
      }),
      { numRuns: 2_000 },
    )
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { CompletionEvent, FinishReason } from '../../src/core/calls/completion.ts'
import { WIRES, type Wire } from '../../src/core/catalog/catalog.ts'
import type { AttemptFailure } from '../../src/core/failover/attempt-failure.ts'
import * as chat from '../../src/providers/chat-completions.ts'
import * as converse from '../../src/providers/chat-to-converse.ts'
import * as google from '../../src/providers/chat-to-google.ts'
import * as anthropic from '../../src/providers/chat-to-messages.ts'
import * as responses from '../../src/providers/chat-to-responses.ts'
import { SseDecoder } from '../../src/providers/http/sse-decoder.ts'
import type { CompletionReader, StreamSignal } from '../../src/providers/wire.ts'

interface WireUnderTest {
  open: () => CompletionReader
  failureOfStatus: (status: number, body: string, retryAfterMs: number | null) => AttemptFailure
  failureOfErrorObject: (error: unknown, status: number) => AttemptFailure
}

const WIRE: Record<Wire, WireUnderTest> = {
  'chat-completions': { open: chat.openReader, ...chat },
  'anthropic-messages': {
    open: () => new anthropic.MessagesReader(),
    ...anthropic,
  },
  'google-generate-content': { open: () => new google.GenerateContentReader(), ...google },
  // Its errors are those of the chat-completions wire.
  responses: { ...chat, open: () => new responses.ResponsesReader(), ...responses },
  // Its errors are those of the messages wire.
  'bedrock-converse': { ...anthropic, open: () => new converse.ConverseReader(), ...converse },
}

interface RecordedError {
  status: number
  retryAfterMs?: number
  body: unknown
  expected: Partial<AttemptFailure>
}

/** Ids that the gateway made are another each time. */
const withoutMadeIds = (json: string) => {
  const known = new Map<string, string>()
  return json.replace(/call_[0-9a-f]{24}/g, (id) => {
    if (!known.has(id)) known.set(id, `call_made_${known.size + 1}`)
    return known.get(id)!
  })
}

/** Examples in the shapes that each wire's public documentation shows, with what they mean to us. */
describe.each(WIRES)('%s', (wire) => {
  const folder = new URL(`../fixtures/${wire}/`, import.meta.url)
  const text = (name: string) => readFileSync(new URL(name, folder), 'utf8')
  const { open, failureOfStatus, failureOfErrorObject } = WIRE[wire]

  const names = readdirSync(folder)
  const read = (name: string) => {
    const heard: Array<CompletionEvent | { end: FinishReason }> = []
    const hear = (event: CompletionEvent) => heard.push(event)
    const reader = open()
    const signals: StreamSignal[] = []
    if (name.endsWith('.json')) {
      return { heard, signals: [reader.whole(text(name), hear)] }
    }
    const decoder = new SseDecoder((data) => signals.push(reader.event(data, hear)))
    decoder.push(Buffer.from(text(name)))
    decoder.end()
    const finish = heard.findLast((event) => Array.isArray(event) && event[0] === 'finish') as
      | unknown[]
      | undefined
    if (finish && reader.end) heard.push({ end: reader.end(finish[1] as FinishReason, hear) })
    const named = signals.map((signal) =>
      typeof signal === 'object' ? { failure: failureOfErrorObject(signal.error, 200) } : signal,
    )
    return { heard, signals: named }
  }

  test.each(names.filter((name) => name.endsWith('.sse.txt') || name === 'whole.json'))(
    '%s means what its golden file says',
    async (name) => {
      const golden = new URL(name.replace(/\.(sse\.txt|json)$/, '.golden.txt'), folder)
      await expect(`${withoutMadeIds(JSON.stringify(read(name), null, 1))}\n`).toMatchFileSnapshot(
        golden.pathname,
      )
    },
  )

  const errors = JSON.parse(text('errors.json')) as RecordedError[]
  test.each(errors)(
    'the refusal $status $expected.kind: $body',
    ({ status, retryAfterMs, body, expected }) => {
      const sent = typeof body === 'string' ? body : JSON.stringify(body)
      const failure = failureOfStatus(status, sent, retryAfterMs ?? null)
      expect(failure).toMatchObject({ httpStatus: status, ...expected })
      expect(failure.internal).not.toMatch(/example|organization|tokens >/i)
    },
  )
})

import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChatMessage, parseChatRequest } from '../../src/core/calls/chat-request.ts'
import { type CompletionEvent, FINISH_REASONS, type UnknownFinish } from '../../src/core/calls/completion.ts'
import { WIRES, type Wire } from '../../src/core/catalog/catalog.ts'
import { FAILURE_KINDS } from '../../src/core/failover/attempt-failure.ts'
import * as chat from '../../src/providers/chat-completions.ts'
import * as converse from '../../src/providers/chat-to-converse.ts'
import * as google from '../../src/providers/chat-to-google.ts'
import * as anthropic from '../../src/providers/chat-to-messages.ts'
import * as responses from '../../src/providers/chat-to-responses.ts'
import type { CompletionReader } from '../../src/providers/wire.ts'
import { damaged } from '../helpers/damaged.ts'
import { offerAt } from '../helpers/scripted-provider.ts'

const WIRE: Record<
  Wire,
  { open: () => CompletionReader } & Pick<
    typeof chat,
    'requestBody' | 'failureOfStatus' | 'failureOfErrorObject'
  >
> = {
  'chat-completions': { open: chat.openReader, ...chat },
  'anthropic-messages': {
    open: () => new anthropic.MessagesReader(),
    ...anthropic,
  },
  'google-generate-content': { open: () => new google.GenerateContentReader(), ...google },
  // Its errors are those of the chat-completions wire.
  responses: { ...chat, open: () => new responses.ResponsesReader(), ...responses },
  'bedrock-converse': { ...anthropic, open: () => new converse.ConverseReader(), ...converse },
}

describe.each(WIRES)('%s', (wire) => {
  const { open, failureOfErrorObject, failureOfStatus, requestBody } = WIRE[wire]
  const folder = new URL(`../fixtures/${wire}/`, import.meta.url)
  const events = readdirSync(folder)
    .filter((name) => name.endsWith('.sse.txt'))
    .flatMap((name) => readFileSync(new URL(name, folder), 'utf8').match(/(?<=^data: )\{.*\}$/gm) ?? [])
    .map((data) => JSON.parse(data) as unknown)

  const expectKnown = (event: CompletionEvent) => {
    expect(['text', 'refusal', 'tool-calls', 'finish', 'usage', 'thinking']).toContain(event[0])
    if (event[0] === 'finish' && typeof event[1] === 'string') expect(FINISH_REASONS).toContain(event[1])
    else if (event[0] === 'finish') expect((event[1] as UnknownFinish).unknown).toMatch(/^[\w.: ?-]{1,60}$/)
    if (event[0] === 'text') expect(typeof event[1]).toBe('string')
    if (event[0] === 'usage')
      expect(Object.values(event[1]).every((count) => typeof count === 'number')).toBe(true)
    if (event[0] === 'tool-calls') {
      for (const { index, id } of event[1]) {
        expect(Number.isInteger(index) && index >= 0 && index < 256).toBe(true)
        if (id !== undefined) expect(id).toMatch(/^call_[A-Za-z0-9]+$/)
      }
    }
  }

  test('whatever a provider says is read into known events, or is malformed, and never breaks the reader', () => {
    const damagedEvents = fc.array(fc.constantFrom(...events).chain(damaged), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(damagedEvents, (stream) => {
        const reader = open()
        for (const event of stream) {
          const data = JSON.stringify(event)
          const signal = reader.event(data, expectKnown)
          if (typeof signal === 'object')
            expect(FAILURE_KINDS).toContain(failureOfErrorObject(signal.error, 200).kind)
          const whole = open().whole(data, expectKnown)
          if (typeof whole === 'object')
            expect(FAILURE_KINDS).toContain(failureOfErrorObject(whole.error, 200).kind)
        }
      }),
      { numRuns: 400 },
    )
  })

  test('whatever a provider refuses with is a failure of a known kind', () => {
    const errors = JSON.parse(readFileSync(new URL('errors.json', folder), 'utf8')) as { body: unknown }[]
    fc.assert(
      fc.property(
        fc.integer({ min: 300, max: 599 }),
        fc.constantFrom(...errors).chain(({ body }) => damaged(body)),
        (status, body) => {
          expect(FAILURE_KINDS).toContain(failureOfStatus(status, JSON.stringify(body), null).kind)
        },
      ),
      { numRuns: 200 },
    )
  })

  test.each([
    ['text', '"boom"'],
    ['number', '7'],
    ['null', 'null'],
    ['true', 'true'],
    ['array', '[{"error":{"message":"boom"}}]'],
    ['arrays', '[[["boom"]]]'],
    ['nested', '{"error":{"error":{"error":{"error":{"error":"boom"}}}}}'],
    ['code without a number', '{"code":{"toString":null},"status":{"valueOf":[]},"message":["boom"]}'],
    ['prototype', '{"code":"__proto__","type":"constructor","details":[null,7,{"reason":{}}]}'],
    ['deep', `{"message":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ])('an error that is a %s fails the attempt, whatever the status', (_shape, json) => {
    const error: unknown = JSON.parse(json)
    expect(failureOfErrorObject(error, 200).kind).toBe('server-error')
    for (const body of [json, `{"error":${json}}`, `{"type":"error","error":${json}}`]) {
      expect(failureOfStatus(500, body, null).kind).toBe('server-error')
      expect(failureOfStatus(400, body, null).kind).toBe('bad-request')
      const whole = open().whole(body, expectKnown)
      expect(whole).not.toBe('ok')
      const event = open().event(body, expectKnown)
      expect(typeof event === 'object' || event === 'malformed' || event === 'other').toBe(true)
    }
  })

  test('whatever a client may send becomes a request', () => {
    const sane = {
      messages: [
        { role: 'system', content: 'a' },
        {
          role: 'user',
          name: 'b',
          content: [
            { type: 'text', text: 'c' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
            { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } },
          ],
        },
        { role: 'tool', content: 'd', tool_call_id: 'e' },
        { role: 'assistant', content: 'f ' },
      ] as ChatMessage[],
      tools: [
        {
          type: 'function',
          function: {
            name: 'g',
            parameters: {
              type: ['object', 'null'],
              properties: { h: { $ref: '#/$defs/i' }, j: { type: 'array', items: { enum: [1, null] } } },
              required: ['h'],
              allOf: [{ properties: { k: { const: 1 } }, required: ['k'] }, { anyOf: [{ type: 'null' }] }],
              $defs: { i: { oneOf: [{ $ref: '#' }, { type: 'string' }] } },
            },
          },
        },
      ],
      response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } },
    }
    const offer = offerAt('http://h/v1')
    fc.assert(
      fc.property(damaged(sane), (body) => {
        let parsed: ReturnType<typeof parseChatRequest>
        try {
          parsed = parseChatRequest(body)
        } catch {
          // Refused before it gets to a wire.
          return
        }
        const sent = requestBody({
          offer,
          messages: parsed.content.messages,
          parameters: parsed.content.parameters,
          accountId: 'acct_1',
          completionLimit: 1,
          limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
          signal: AbortSignal.abort(),
        })
        expect(typeof JSON.parse(String(sent))).toBe('object')
      }),
      { numRuns: 400 },
    )
  })
})

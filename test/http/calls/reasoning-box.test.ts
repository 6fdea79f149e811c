import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { SamplingParameters } from '../../../src/core/calls/chat-request.ts'
import { CompletionBuilder, type CompletionEvent, isDelta } from '../../../src/core/calls/completion.ts'
import { normalizeExtendedRequest } from '../../../src/core/calls/extended-request.ts'
import { type CallContent, kindOf, messagesOf } from '../../../src/core/calls/kinds/call-kinds.ts'
import { type NativeContent, parseMessagesRequest } from '../../../src/core/calls/messages-request.ts'
import { normalizeResponsesRequest, type ResponsesBody } from '../../../src/core/calls/responses-request.ts'
import { makerOf, type Offer, type Wire } from '../../../src/core/catalog/catalog.ts'
import type { Fields } from '../../../src/core/json/json-object.ts'
import type { ResponseFormat } from '../../../src/http/calls/completion-writer.ts'
import { extendedFormat } from '../../../src/http/calls/extended-format.ts'
import { messagesFormat } from '../../../src/http/calls/messages-format.ts'
import { createReasoningBox, REASONING_PURPOSE } from '../../../src/http/calls/reasoning-box.ts'
import { ResponsesFormat } from '../../../src/http/calls/responses-format.ts'
import { createSealer } from '../../../src/platform/sealing.ts'
import { chatCompletions } from '../../../src/providers/chat-completions.ts'
import { googleGenerateContent } from '../../../src/providers/chat-to-google.ts'
import { anthropicMessages, nativeMessages } from '../../../src/providers/chat-to-messages.ts'
import { openaiResponses } from '../../../src/providers/chat-to-responses.ts'
import type { ChatAttempt, WireMapping } from '../../../src/providers/wire.ts'
import { offerAt } from '../../helpers/scripted-provider.ts'

const box = createReasoningBox(createSealer([randomBytes(32)], REASONING_PURPOSE))
const seal = box.sealer('acct_1')
const open = box.opener('acct_1')

const offerOn = (wire: Wire, id: string): Offer => {
  const offer = offerAt('http://127.0.0.1:1', {}, id)
  return { ...offer, provider: { ...offer.provider, wire } }
}

const SIGNED = { type: 'thinking', thinking: 'Which file?', signature: 'c2lnbmVkIGJ5IGl0cyBtYWtlcg==' }
const HIDDEN = { type: 'redacted_thinking', data: 'aGlkZGVu' }
const DETAILS = [
  { type: 'reasoning.text', text: 'Which file?', index: 0, signature: 'c2ln' },
  { type: 'reasoning.encrypted', data: 'ZW5jcnlwdGVk', index: 1 },
]
const ITEM = {
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Which file?' }],
  encrypted_content: 'gA',
}
const CALL = { type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } }
const chunk = (delta: object) => ({ choices: [{ index: 0, delta }] })

interface Maker {
  offer: Offer
  mapping: WireMapping
  /** A turn that thinks and calls a tool, as the maker streams it. */
  stream: object[]
  /** What it wants back, as text of the JSON of its next request. */
  wanted: string[]
}

const MAKERS: Record<string, Maker> = {
  'the messages wire': {
    offer: offerOn('anthropic-messages', 'maker/claude-9'),
    mapping: anthropicMessages,
    stream: [
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Which ' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'file?' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'signature_delta', signature: SIGNED.signature },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: HIDDEN },
      { type: 'content_block_stop', index: 1 },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } },
      },
      { type: 'content_block_stop', index: 2 },
    ],
    wanted: [`${JSON.stringify(SIGNED)},${JSON.stringify(HIDDEN)}`],
  },
  'the responses wire': {
    offer: offerOn('responses', 'maker/gpt-9'),
    mapping: openaiResponses,
    stream: [
      { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'Which file?' },
      { type: 'response.output_item.done', output_index: 0, item: { ...ITEM, id: 'rs_1' } },
      {
        type: 'response.output_item.done',
        output_index: 1,
        item: { type: 'function_call', id: 'fc_1', call_id: 'call_1', ...CALL.function },
      },
      { type: 'response.completed', response: { status: 'completed' } },
    ],
    wanted: [JSON.stringify(ITEM)],
  },
  'the generate-content wire': {
    offer: offerOn('google-generate-content', 'maker/gemini-9'),
    mapping: googleGenerateContent,
    stream: [
      { candidates: [{ content: { parts: [{ thought: true, text: 'Which file?' }] } }] },
      {
        candidates: [
          {
            content: {
              parts: [
                { functionCall: { name: 'read', args: { path: 'a' } }, thoughtSignature: 'dGhvdWdodA==' },
              ],
            },
          },
        ],
      },
    ],
    wanted: ['"thoughtSignature":"dGhvdWdodA=="'],
  },
  'the chat-completions wire': {
    offer: offerOn('chat-completions', 'maker/acme-9'),
    mapping: chatCompletions,
    stream: [
      chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'Which ', index: 0 }] }),
      chunk({
        reasoning_details: [{ type: 'reasoning.text', text: 'file?', signature: 'c2ln', index: 0 }],
      }),
      chunk({ reasoning_details: [DETAILS[1]] }),
      chunk({
        tool_calls: [
          { index: 0, id: 'call_9', ...CALL, extra_content: { maker: { signature: 'ZXh0cmE=' } } },
        ],
      }),
    ],
    wanted: [
      `"reasoning_details":${JSON.stringify(DETAILS)}`,
      '"extra_content":{"maker":{"signature":"ZXh0cmE="}}',
    ],
  },
}

const TOOL = { name: 'read', parameters: { type: 'object', properties: {} } }
const HEAD = { id: `chatcmpl_${'0'.repeat(26)}`, created: 1, model: 'm' } as const
const USAGE = { promptTokens: 1, completionTokens: 1 }

interface Client {
  format: () => ResponseFormat
  /** The turns that the client sends next, with the result of the call, as the content of its call. */
  next: (answer: ReturnType<typeof answerOf>, isStream: boolean) => CallContent
}

const CLIENTS: Record<string, Client> = {
  chat: {
    format: () => extendedFormat({ includeUsage: false, seal }),
    next({ whole, events }, isStream) {
      const deltas = events.map((event) => event.choices[0].delta)
      const of = (name: string) => deltas.flatMap((delta) => delta[name] ?? [])
      const [first, ...rest] = of('tool_calls')
      for (const piece of rest) first.function.arguments += piece.function.arguments
      const streamed = { role: 'assistant', reasoning_details: of('reasoning_details'), tool_calls: [first] }
      const message = isStream ? streamed : whole.choices[0].message
      const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'text' }
      const tools = [{ type: 'function' as const, function: TOOL }]
      const messages = [{ role: 'user', content: 'Read a.' }, message, result]
      return normalizeExtendedRequest({ model: 'm', messages, tools }, undefined, open).content
    },
  },
  messages: {
    format: () => messagesFormat(seal),
    next({ whole, events }, isStream) {
      const blocks = JSON.parse('[]')
      for (const event of events) {
        if (event.type === 'content_block_start') blocks[event.index] = { ...event.content_block, json: '' }
        const block = blocks[event.index]
        const delta = event.type === 'content_block_delta' ? event.delta : {}
        if (delta.thinking) block.thinking += delta.thinking
        if (delta.signature) block.signature += delta.signature
        if (delta.partial_json) block.json += delta.partial_json
      }
      const streamed = blocks.map(({ json, ...block }: Fields) =>
        block.type === 'tool_use' ? { ...block, input: JSON.parse(String(json)) } : block,
      )
      const content = isStream ? streamed : whole.content
      const { id } = content.find(({ type }: { type: string }) => type === 'tool_use')
      const messages = [
        { role: 'user', content: 'Read a.' },
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'text' }] },
      ]
      const tools = [{ name: TOOL.name, input_schema: TOOL.parameters }]
      return parseMessagesRequest({ model: 'm', max_tokens: 9, messages, tools }, { anyWire: true, open })
        .content
    },
  },
  responses: {
    format() {
      const echoed = { background: false, metadata: null, previous_response_id: null }
      const { call } = normalizeResponsesRequest({ input: 'Read a.' }, { history: [], openReasoning: open })
      return new ResponsesFormat(call, { declaredTools: new Map(), sealReasoning: seal }, echoed, false)
    },
    next({ whole, events }, isStream) {
      const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
      const output = isStream ? done : whole.output
      const { call_id } = output.find(({ type }: Fields) => type === 'function_call')
      const input = [
        { role: 'user', content: 'Read a.' },
        ...output,
        { type: 'function_call_output', call_id, output: 'text' },
      ]
      const tools = [{ type: 'function', ...TOOL }]
      const body = { model: 'm', input, tools } as ResponsesBody
      return normalizeResponsesRequest(body, { history: [], openReasoning: open }).call.content
    },
  },
}

/** The answer of a maker as a client gets it. */
function answerOf({ offer, mapping, stream }: Maker, format: ResponseFormat) {
  const emitted: CompletionEvent[] = []
  const reader = mapping.openReader({ ...attemptOf({ kind: 'chat', messages: [], parameters: {} }, offer) })
  for (const event of stream) reader.event(JSON.stringify(event), (one) => emitted.push(one))
  const reason = reader.end?.('stop', (one) => emitted.push(one)) ?? 'stop'
  const deltas = emitted.filter(isDelta)
  const builder = new CompletionBuilder()
  for (const delta of deltas) builder.add(delta)
  const renderer = format.stream(HEAD)
  const text =
    deltas.map((delta) => renderer.delta(delta)).join('') + renderer.finish(['finish', reason, USAGE])
  return {
    text,
    whole: JSON.parse(format.whole(HEAD, ['completion', 0, builder.message(), reason, USAGE])),
    events: [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!)),
  }
}

function attemptOf(content: CallContent, offer: Offer): ChatAttempt {
  const { parameters } = content as { parameters: SamplingParameters }
  const limits = { firstTokenMs: 1, idleMs: 1, totalMs: 1 }
  const { signal } = new AbortController()
  const asked = { accountId: 'acct_1', offer, completionLimit: 64, limits, signal, extended: true } as const
  return { ...asked, messages: messagesOf(content), parameters }
}

/** The request that a worker sends for a call that was stored in a queue. */
function requestTo({ offer, mapping }: Maker, content: CallContent): string {
  const kind = kindOf(content)
  const stored = JSON.parse(JSON.stringify(kind.write?.(content) ?? content))
  const read = { ...stored, ...kind.read?.(stored), kind: content.kind } as CallContent
  if (content.kind === 'native' && offer.provider.wire === 'anthropic-messages') {
    const attempt = { ...attemptOf(read, offer), content: read as NativeContent }
    return String(nativeMessages.request(attempt, null).body)
  }
  return String(mapping.request(attemptOf(read, offer), null).body)
}

const pairs = Object.keys(CLIENTS).flatMap((client) =>
  Object.keys(MAKERS)
    // Its clients get what a maker of the same wire signs as it is.
    .filter((maker) => client !== 'messages' || maker !== 'the messages wire')
    .flatMap((maker) => ['streamed', 'whole'].map((way) => [client, maker, way] as const)),
)

describe.each(pairs)(
  'to a client of %s, what a maker of %s signs of its reasoning, %s,',
  (client, maker, way) => {
    const { format, next } = CLIENTS[client]!
    const answer = answerOf(MAKERS[maker]!, format())
    const content = next(answer, way === 'streamed')

    test('is sealed', () => {
      for (const secret of [SIGNED.signature, HIDDEN.data, 'dGhvdWdodA==', 'c2ln', 'ZXh0cmE=', 'maker'])
        expect(answer.text + JSON.stringify(answer.whole)).not.toContain(secret)
    })

    test('comes back to it with the result of the call', () => {
      const sent = requestTo(MAKERS[maker]!, content)
      for (const wanted of MAKERS[maker]!.wanted) expect(sent).toContain(wanted)
      expect(kindOf(content).needs(content).signed?.makers).toEqual(new Set([makerOf(MAKERS[maker]!.offer)]))
    })

    test('is sent to no other', () => {
      for (const other of Object.keys(MAKERS).filter((each) => each !== maker)) {
        const sent = requestTo({ ...MAKERS[other]!, offer: { ...MAKERS[other]!.offer } }, content)
        for (const secret of [SIGNED.signature, HIDDEN.data, 'dGhvdWdodA==', 'c2ln', 'ZXh0cmE='])
          expect(sent).not.toContain(secret)
        expect(sent).not.toContain('"thinking":"')
      }
    })
  },
)

test('another account cannot open what was sealed', () => {
  const signed = [{ maker: 'm', value: 'x' }]
  expect(open(seal({ text: 'Hm.', signed }))).toEqual({ text: 'Hm.', signed })
  expect(open(seal({ text: 'Hm.', signed: [] }))).toEqual({ text: 'Hm.', signed: [] })
  expect(box.opener('acct_2')(seal({ text: 'Hm.', signed }))).toBeNull()
  expect(open('theirs')).toBeNull()
})

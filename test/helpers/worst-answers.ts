import { CompletionRelay } from '../../src/calls/worker/attempts/completion-relay.ts'
import { PrefixGuard } from '../../src/calls/worker/attempts/prefix-guard.ts'
import { type ChatMessage, parseChatRequest } from '../../src/core/calls/chat-request.ts'
import { CompletionBuilder, type ToolCallDelta } from '../../src/core/calls/completion.ts'
import { ChunkRenderer, renderCompletion } from '../../src/http/calls/chat-format.ts'
import * as chat from '../../src/providers/chat-completions.ts'
import * as google from '../../src/providers/chat-to-google.ts'
import * as anthropic from '../../src/providers/chat-to-messages.ts'
import { SseDecoder } from '../../src/providers/http/sse-decoder.ts'
import type { Transformation } from './linear-time.ts'
import { offerAt } from './scripted-provider.ts'
import { bytes, MB, many, messagesOf, request, upTo } from './worst-inputs.ts'

type Body = { content: Pick<ReturnType<typeof parseChatRequest>['content'], 'messages' | 'parameters'> }
const attempt = (body: Body) => ({
  messages: body.content.messages,
  parameters: body.content.parameters,
  offer: offerAt('https://api.example/v1'),
  accountId: 'acct_1',
  completionLimit: 64,
  limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
  signal: new AbortController().signal,
})
const wires = (body: Body) => [chat, anthropic, google].map(({ requestBody }) => requestBody(attempt(body)))

/** A turn of tool calls and their results in the order of their names. */
const answered = (ids: string[]): ChatMessage[] => [
  {
    role: 'assistant',
    content: '',
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  },
  ...ids.toSorted().map((id) => ({ role: 'tool' as const, content: 'a', tool_call_id: id })),
]

const decode = (chunks: Buffer[]) => {
  const decoder = new SseDecoder(() => undefined)
  for (const chunk of chunks) if (!decoder.push(chunk)) return
  decoder.end()
}
const cut = (whole: Buffer, chunkBytes: number) =>
  many(Math.ceil(whole.length / chunkBytes), (index) =>
    whole.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  )
const deltas = (count: number, index: (position: number) => number) =>
  many(count, (position) => ({
    index: index(position),
    id: 'c',
    function: { name: 'f', arguments: '{"a":1}' },
  }))
const assembled = (calls: ToolCallDelta[]) => {
  const builder = new CompletionBuilder()
  for (const call of calls) builder.add(['tool-calls', [call]])
  return builder.message()
}
const relayed = (texts: string[]) => {
  const relay = new CompletionRelay(() => undefined)
  for (const text of texts) relay.push(['text', text])
  return relay.message()
}

/** What goes to providers and comes from them, at its worst, in a dispatch worker; and what clients are sent. */
export const ANSWERS: Transformation[] = [
  // What goes to providers.
  {
    name: 'wires: messages of one side',
    size: 2_048,
    input: (size) => parseChatRequest(messagesOf('a', size)),
    run: wires,
  },
  {
    name: 'wires: parts in one turn',
    size: 20_000,
    input: (size) => request(many(size, () => ({ type: 'text', text: 'a' }))),
    run: wires,
  },
  {
    name: 'wires: results of tools in another order than their calls',
    size: 8_000,
    input: (size) => ({
      content: { messages: answered(many(size, (i) => `c${(i * 7_919) % size}`)), parameters: {} },
    }),
    run: wires,
  },
  { name: 'wires: a long text', size: 4 * MB, input: (size) => request(upTo(size, '\u0001"\\')), run: wires },

  // What comes from providers.
  ...Object.entries({
    'one line, byte by byte': (size: number) => cut(bytes(`data: ${'x'.repeat(size)}\n\n`), 1),
    'one line, in chunks': (size: number) => cut(bytes(`data: ${'x'.repeat(size)}\n\n`), 16),
  }).map(([name, input]) => ({ name: `event stream: ${name}`, size: 256 * 1024, input, run: decode })),
  ...Object.entries({
    'empty lines': '\n',
    'carriage returns': '\r',
    'data lines of one event': 'data:\n',
    comments: ':\n',
    'mixed line ends': '\r\n\n\r',
  }).map(([name, piece]) => ({
    name: `event stream: ${name}`,
    size: 512 * 1024,
    input: (size: number) => cut(bytes(upTo(size, piece)), 65_536),
    run: decode,
  })),
  {
    name: 'event: names',
    size: 512 * 1024,
    input: (size) => `{${many(Math.floor(size / 11), (i) => `"k${i}":1`).join(',')}}`,
    run: (data: never) => new chat.ChatReader().event(data, () => undefined),
  },
  {
    name: 'reply: parts of content',
    size: 20_000,
    input: (size) =>
      JSON.stringify({
        choices: [{ message: { content: many(size, () => ({ type: 'text', text: 'a' })) } }],
      }),
    run: (body: never) => new chat.ChatReader().whole(body, () => undefined),
  },
  {
    name: 'tool calls: deltas of one call',
    size: 100_000,
    input: (size) => deltas(size, () => 0),
    run: assembled,
  },
  {
    name: 'tool calls: many calls',
    size: 100_000,
    input: (size) => deltas(size, (position) => 256 - (position % 256)),
    run: assembled,
  },
  { name: 'relay: many deltas', size: 500_000, input: (size) => many(size, () => 'ab'), run: relayed },
  {
    name: 'rescue: the same text, character by character',
    size: 500_000,
    input: (size) => 'ab'.repeat(size),
    run: (text: string) => {
      const guard = new PrefixGuard(
        { content: text, toolCalls: new Map() },
        new CompletionRelay(null).push,
        () => undefined,
      )
      for (const character of text) guard.push(['text', character])
    },
  },

  // What goes to clients.
  {
    name: 'rendered: many deltas',
    size: 100_000,
    input: (size) => many(size, () => '"\\\u0001'),
    run: (texts: string[]) => {
      const chunks = new ChunkRenderer({ id: 'call_x' as never, created: 0, model: 'm' })
      for (const text of texts) chunks.delta(['text', text])
    },
  },
  {
    name: 'rendered: one long answer',
    size: 4 * MB,
    input: (size) => upTo(size, '"\\\u0001'),
    run: (content: string) =>
      renderCompletion({ id: 'call_x' as never, created: 0, model: 'm' }, { content }, 'stop', null),
  },
]

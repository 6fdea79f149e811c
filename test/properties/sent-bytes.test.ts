import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { readBody, writeBody } from '../../src/core/calls/call-body.ts'
import { normalizeChatRequest, readChatBody } from '../../src/core/calls/chat-request.ts'
import { normalizeExtendedRequest } from '../../src/core/calls/extended-request.ts'
import { type CallContent, kindOf } from '../../src/core/calls/kinds/call-kinds.ts'
import { type MessagesBody, parseMessagesRequest } from '../../src/core/calls/messages-request.ts'
import type { ProviderQuirks, Wire } from '../../src/core/catalog/catalog.ts'
import { parseClientJson } from '../../src/core/json/client-json.ts'
import { createSign } from '../../src/providers/credentials/create-sign.ts'
import { createProviderClients } from '../../src/providers/provider-clients.ts'
import { WIRE_MAPPINGS } from '../../src/providers/wires.ts'
import { damaged } from '../helpers/damaged.ts'
import { offerAt } from '../helpers/scripted-provider.ts'

const LIMITS = { depth: 256, values: 100_000 }
/** Members of a shorter body are always written again. */
const PADDING = 'x'.repeat(17_000)

/** So long that it is copied and not parsed. */
const PICTURE = `data:image/png;base64,${'iVBORw0KGgo+'.repeat(6_000)}`

const FUNCTION = {
  name: 'read',
  description: 'Reads. '.repeat(300),
  parameters: { type: 'object', maximum: 1.5 },
}
const CHAT = {
  messages: [
    { role: 'system', content: 'a' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'c 😀' },
        { type: 'image_url', image_url: { url: PICTURE, detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://h/a.png' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'd' },
    { role: 'assistant', content: 'e' },
    { role: 'user', name: 'f', content: 'g' },
  ],
  tools: [{ type: 'function', function: FUNCTION }],
}
const STABLE = {
  ...CHAT,
  messages: CHAT.messages.filter(({ tool_calls: calls, role }) => !calls && role !== 'tool'),
}
const NATIVE = {
  max_tokens: 5,
  system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'b' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE.split(',')[1] } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'c', signature: 'd' },
        { type: 'tool_use', id: 'toolu_1', name: 'read', input: { line: 1.5 } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'e' }] },
  ],
  tools: [{ name: 'read', input_schema: { type: 'object' } }],
}

function parsed(json: string) {
  const outcome = parseClientJson(Buffer.from(json), LIMITS)
  if (outcome.kind !== 'value') throw new Error(outcome.kind)
  return outcome
}

type Surface = (json: string) => CallContent
const stable: Surface = (json) => {
  const { value, exact, sent } = parsed(json)
  return normalizeChatRequest(readChatBody(value), exact, sent).content
}
const extended: Surface = (json) => {
  const { value, exact, sent } = parsed(json)
  return normalizeExtendedRequest(readChatBody(value) as never, exact, undefined, sent).content
}
const native: Surface = (json) => {
  const { value, sent } = parsed(json)
  return parseMessagesRequest(value as MessagesBody, { anyWire: true, sentJson: sent }).content
}

/** The request of an attempt at a provider of this wire, as it is sent. */
function requestOf(content: CallContent, wire: Wire, quirks: ProviderQuirks): string {
  const { provider, ...offer } = offerAt('http://h/v1')
  const attempt = {
    ...{ content, accountId: 'acct_1', completionLimit: 5_000, signal: AbortSignal.abort() },
    offer: { ...offer, provider: { ...provider, wire, quirks } },
    limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
  }
  const sent: string[] = []
  const clients = createProviderClients({
    sign: createSign(Date.now),
    wires: WIRE_MAPPINGS,
    transport: { post: ({ body }) => void sent.push(String(body)) },
    ourKey: () => 'key',
    connectTimeoutMs: 1,
    now: () => 0,
  })
  void clients(wire).attempt(attempt, () => undefined)
  return sent[0]!
}

/** As a worker reads it that is another process. */
const afterQueue = (content: CallContent): CallContent => readBody(writeBody(content))

const quirks = fc.record<ProviderQuirks>(
  {
    namedRoles: fc.constant(['user']),
    prefillField: fc.constant('prefix'),
    shortToolIds: fc.constant(true),
    developerRole: fc.constant(true),
    reasoningHistory: fc.constant(true),
    jsonObjectOnly: fc.constant(true),
  } as never,
  { requiredKeys: [] },
)

describe.each<[string, Surface, { messages: object[] }, Wire]>([
  ['a chat', stable, STABLE, 'chat-completions'],
  ['an extended chat', extended, CHAT, 'chat-completions'],
  ['a native call', native, NATIVE, 'anthropic-messages'],
])('the request of %s at a provider of its wire', (_which, read, sane, wire) => {
  test.each([
    ['in its process', (content: CallContent) => content],
    ['in another process', afterQueue],
  ])(
    'has the bytes of the client, spaces included, which %s are neither parsed nor written again',
    (_where, there) => {
      const [first, ...others] = sane.messages
      const body = { ...sane, messages: [first, { role: 'user', content: PADDING }, ...others] }
      const json = JSON.stringify(body, null, 1)
      const boundOf = (content: CallContent) => kindOf(content).needs(content).prompt.textTokens
      // Agents send their tools again with each turn.
      const known = boundOf(read(json))
      const written = vi.spyOn(JSON, 'stringify')
      const content = read(json)
      expect(boundOf(content)).toBe(known)
      const passed = there(content)
      const readAgain = vi.spyOn(JSON, 'parse')
      const request = requestOf(passed, wire, {})
      const longest = Math.max(...written.mock.results.map(({ value }) => String(value).length))
      expect([longest < 1_000, readAgain.mock.calls.length]).toEqual([true, 0])
      vi.restoreAllMocks()
      for (const name of ['messages', 'tools', 'system'] as const) {
        const given = (body as Record<string, unknown>)[name]
        if (given) expect(request).toContain(JSON.stringify({ [name]: given }, null, 1).slice(3, -2))
      }
    },
  )

  test('states the same as one that is written again, whatever the client sends', () => {
    const spaces = fc.constantFrom(undefined, 1)
    fc.assert(
      fc.property(damaged(sane), spaces, quirks, (body, space, at) => {
        const json = JSON.stringify({ ...(body as object), padding: PADDING }, null, space)
        let content: CallContent
        try {
          content = read(json)
        } catch {
          // Refused before it gets to a provider.
          return
        }
        const anew = JSON.parse(requestOf({ ...content, sentJson: undefined } as CallContent, wire, at))
        expect(JSON.parse(requestOf(content, wire, at))).toEqual(anew)
        expect(JSON.parse(requestOf(afterQueue(content), wire, at))).toEqual(anew)
      }),
      { numRuns: 300 },
    )
  })

  test('has pairs of escaped surrogates as they are', () => {
    const json = JSON.stringify({ ...sane, padding: PADDING }).replace(
      '"user"',
      '"user","unread":"\\ud83d\\uDE00"',
    )
    expect(requestOf(read(json), wire, {}).includes('\\ud83d\\uDE00')).toBe(wire === 'anthropic-messages')
  })

  test.each([
    ['a name that stands twice', '"role":"user",', '"role":"user","role":"user",'],
    ['an escaped surrogate', '"role":"user",', '"role":"user","unread":"\\uD800",'],
    ['a name that parsing drops', '"role":"user",', '"role":"user","__proto__":1,'],
  ])('has no bytes of messages with %s', (_what, text, instead) => {
    const json = JSON.stringify({ ...sane, padding: PADDING }).replace(text, instead)
    expect(requestOf(read(json), wire, {})).not.toContain(instead)
  })
})

import assert from 'node:assert/strict'
import Anthropic, { NotFoundError } from '@anthropic-ai/sdk'
import { VERSION } from '@anthropic-ai/sdk/version'
import { type Answer, ask, type Check, expectError, type GateContext } from '../check.ts'
import { HIDDEN_WORDS, LIMITED_REQUESTS_PER_MINUTE } from '../gate-models.ts'
import { TOOL_ARGUMENTS } from './chat-answer-checks.ts'

const PATH = '/v1/messages'
const BODY = {
  model: 'gate/native',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Tell me about rail yards.' }],
}
const TOOL_BODY = {
  ...BODY,
  messages: [{ role: 'user' as const, content: 'Use find_train to "Basel" from platform 7.' }],
  tools: [
    {
      name: 'find_train',
      input_schema: {
        type: 'object' as const,
        properties: { town: { type: 'string' }, platform: { type: 'integer' } },
      },
    },
  ],
}

/** Expects the error body of this wire with a status and code. Returns the error. */
function expectNativeError({ status, headers, text, json }: Answer, code: string, ...statuses: number[]) {
  assert.ok(statuses.includes(status), `status ${status} instead of ${statuses.join(' or ')}: ${text}`)
  const { type, error, request_id } = json as Record<'type' | 'request_id', unknown> & {
    error: Record<string, unknown>
  }
  assert.equal(type, 'error')
  assert.equal(error.code, code)
  assert.match(String(error.type), /_error$/)
  assert.match(String(error.message), /\S/)
  assert.equal(request_id, headers.get('request-id'), 'request_id is that of the header')
  for (const word of HIDDEN_WORDS) assert.ok(!text.includes(word), `the error names ${word}`)
  return error
}

async function messageOf(context: GateContext, body: object): Promise<Anthropic.Message> {
  const { status, text, json } = await ask(context, PATH, { body })
  assert.equal(status, 200, text)
  for (const word of HIDDEN_WORDS) assert.ok(!text.includes(word), `the answer names ${word}`)
  return json as Anthropic.Message
}

/** Events of a stream; each names the type that its data has. */
async function eventsOf(context: GateContext, body: object): Promise<Anthropic.MessageStreamEvent[]> {
  const { status, headers, text } = await ask(context, PATH, { body: { ...body, stream: true } })
  assert.equal(status, 200, text)
  assert.match(headers.get('content-type') ?? '', /^text\/event-stream/)
  const events = text.split('\n\n')
  assert.equal(events.pop(), '', 'the last event ends')
  return events.map((event) => {
    const [, name, data] = event.match(/^event: (\w+)\ndata: ([^\n]*)$/) ?? []
    const parsed = JSON.parse(data ?? 'null') as Anthropic.MessageStreamEvent
    assert.equal(parsed?.type, name)
    return parsed
  })
}

const textOf = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

const exactPath = async (context: GateContext) => {
  await messageOf(context, BODY)
  assert.equal((await ask(context, PATH, { method: 'GET' })).status, 405)
  assert.equal((await ask(context, '/messages', { body: BODY })).status, 404)
  const elsewhere = await ask(context, PATH, { body: { ...BODY, model: 'gate/plain' } })
  // As on any path that is none, in the words of all routes.
  expectError(elsewhere, 'surface_unavailable', 404)
}

/** Under /v2: also by targets of other wires. */
const anyWire = async (context: GateContext) => {
  for (const model of [BODY.model, 'gate/plain']) {
    const body = { ...BODY, model }
    const message = await messageOf(context, body)
    assert.deepEqual([message.type, message.model], ['message', model])
    const text = (await eventsOf(context, body)).map((event) =>
      event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '',
    )
    assert.equal(text.join(''), textOf(message))
  }
  const refused = await ask(context, PATH, { method: 'GET' })
  expectNativeError(refused, 'method_not_allowed', 405)
  assert.equal((await ask(context, '/messages', { body: BODY })).status, 404)
}

const authHeader = async (context: GateContext) => {
  const { key } = context
  const by = (headers: Record<string, string>) => ask(context, PATH, { body: BODY, key: null, headers })
  assert.equal((await by({ 'x-api-key': key })).status, 200)
  assert.equal((await by({ authorization: `Bearer ${key}` })).status, 200)
  const refusals: Array<Record<string, string>> = [
    {},
    { 'x-api-key': 'sk-sy-none' },
    { 'x-api-key': key, authorization: 'Bearer x' },
  ]
  for (const headers of refusals) {
    const refused = await by(headers)
    expectNativeError(refused, 'x-api-key' in headers ? 'invalid_api_key' : 'missing_api_key', 401)
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
  }
}

const requiredFields = async (context: GateContext) => {
  const { max_tokens: _, ...endless } = BODY
  const refused = [
    [endless, 'max_tokens'],
    [{ ...BODY, max_tokens: 0 }, 'max_tokens'],
    [{ ...BODY, messages: undefined }, 'messages'],
  ] as const
  for (const [body, param] of refused) {
    const error = expectNativeError(await ask(context, PATH, { body }), 'invalid_request', 400)
    assert.equal(error.param, param)
  }
}

const ignoredFields = async (context: GateContext) => {
  const ignored = { metadata: { user_id: 'x' }, unheard_of: [null] }
  const message = await messageOf(context, { ...BODY, ...ignored })
  assert.equal(textOf(message), textOf(await messageOf(context, BODY)))
  const received = context.received('words-12.tag-gate').slice(-2) as Array<Record<string, unknown>>
  const leaked = Object.keys(ignored).filter((name) => received.some((body) => name in body))
  assert.deepEqual(leaked, [], 'forwarded to the provider')
}

const envelope = async (context: GateContext) => {
  const message = await messageOf(context, BODY)
  assert.match(message.id, /^msg_/)
  assert.deepEqual([message.type, message.role, message.model], ['message', 'assistant', BODY.model])
  assert.deepEqual([message.stop_reason, message.stop_sequence], ['end_turn', null])
  assert.match(textOf(message), /\w/)
}

const stream = async (context: GateContext) => {
  const events = await eventsOf(context, BODY)
  const types = events.map(({ type }) => type).filter((type) => (type as string) !== 'ping')
  assert.deepEqual(types.slice(0, 2), ['message_start', 'content_block_start'])
  assert.deepEqual(types.slice(-3), ['content_block_stop', 'message_delta', 'message_stop'])
  const text = events.map((event) =>
    event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '',
  )
  assert.equal(text.join(''), textOf(await messageOf(context, BODY)))
  const broken = (await eventsOf(context, { ...BODY, model: 'gate/native-cut' })).map(({ type }) =>
    String(type),
  )
  assert.equal(broken.at(-1), 'error')
  assert.ok(!broken.includes('message_stop'), 'a broken stream has no end of a message')
}

const toolCalls = async (context: GateContext) => {
  const events = await eventsOf(context, TOOL_BODY)
  const written = events.map((event) =>
    event.type === 'content_block_delta' && event.delta.type === 'input_json_delta'
      ? event.delta.partial_json
      : '',
  )
  assert.deepEqual(JSON.parse(written.join('')), TOOL_ARGUMENTS)
  const { content, stop_reason } = await messageOf(context, TOOL_BODY)
  assert.equal(stop_reason, 'tool_use')
  const [use] = content.filter((block) => block.type === 'tool_use')
  assert.match(use?.id ?? '', /^toolu_/)
  assert.deepEqual([use?.name, use?.input], ['find_train', TOOL_ARGUMENTS])
}

const usage = async (context: GateContext) => {
  const { id, usage: told } = await messageOf(context, BODY)
  assert.ok(told.input_tokens > 0 && told.output_tokens > 0)
  const end = (await eventsOf(context, BODY)).find((event) => event.type === 'message_delta')
  assert.equal(end?.usage.output_tokens, told.output_tokens)
  const settled = await ask(context, `/v1/generations/${id.replace('msg_', 'chatcmpl_')}`, { method: 'GET' })
  const { usage: recorded } = settled.json as { usage: Record<string, number> }
  const cached = (told.cache_creation_input_tokens ?? 0) + (told.cache_read_input_tokens ?? 0)
  assert.deepEqual(
    [recorded.prompt_tokens, recorded.completion_tokens],
    [told.input_tokens + cached, told.output_tokens],
  )
}

const errors = async (context: GateContext) => {
  expectNativeError(await ask(context, PATH, { body: '{"model":' }), 'invalid_json', 400)
  expectNativeError(
    await ask(context, PATH, { body: { ...BODY, model: 'gate/none' } }),
    'model_not_found',
    404,
  )
  const failed = await ask(context, PATH, { body: { ...BODY, model: 'gate/native-failing' } })
  const code = failed.status === 502 ? 'all_providers_failed' : 'no_provider_available'
  expectNativeError(failed, code, 502, 503)
}

const rateLimits = async (context: GateContext) => {
  const limited = { body: BODY, key: context.limitedKey }
  for (let call = 1; call <= LIMITED_REQUESTS_PER_MINUTE; call++) {
    const { status, headers, text } = await ask(context, PATH, limited)
    assert.equal(status, 200, text)
    assert.equal(headers.get('x-ratelimit-remaining-requests'), String(LIMITED_REQUESTS_PER_MINUTE - call))
  }
  const refused = await ask(context, PATH, limited)
  expectNativeError(refused, 'rate_limit_exceeded', 429)
  const wait = Number(refused.headers.get('retry-after'))
  assert.ok(wait >= 1 && wait <= 60, `Retry-After is ${wait}`)
}

async function client({ url, key, fetch }: GateContext): Promise<string> {
  const { messages } = new Anthropic({
    apiKey: key,
    authToken: null,
    baseURL: url,
    maxRetries: 0,
    logLevel: 'off',
    fetch,
  })
  const whole = await messages.create(BODY)
  const streamed = await messages.stream(BODY).finalMessage()
  assert.equal(textOf(streamed), textOf(whole))
  const [use] = (await messages.stream(TOOL_BODY).finalMessage()).content.filter(
    ({ type }) => type === 'tool_use',
  )
  assert.deepEqual(use?.type === 'tool_use' && use.input, TOOL_ARGUMENTS)
  await assert.rejects(messages.create({ ...BODY, model: 'gate/none' }).asResponse(), NotFoundError)
  return `@anthropic-ai/sdk ${VERSION}`
}

/** What a native message has to be, whatever its targets. */
const COMMON_CHECKS: readonly Check[] = [
  { name: 'x-api-key or bearer key', subject: 'auth header', run: authHeader },
  { name: 'required native fields', subject: 'required fields', run: requiredFields },
  { name: 'other native fields change nothing', subject: 'ignored fields', run: ignoredFields },
  { name: 'native message', subject: 'non-stream envelope', run: envelope },
  { name: 'named events to message_stop', subject: 'streaming protocol', run: stream },
  { name: 'deltas of a tool use', subject: 'tool-call deltas', run: toolCalls },
  { name: 'native usage, streamed and recorded', subject: 'usage', run: usage },
  { name: 'native error body', subject: 'errors', run: errors },
  { name: 'limits of native calls', subject: 'rate limits', run: rateLimits },
  { name: '@anthropic-ai/sdk for Node', subject: 'client libraries', run: client },
]

/** Under /v1. */
export const MESSAGES_CHECKS: readonly Check[] = [
  { name: 'path, and targets of the wire alone', subject: 'exact path', run: exactPath },
  ...COMMON_CHECKS,
]

/** Under /v2. */
export const EXTENDED_MESSAGES_CHECKS: readonly Check[] = [
  { name: 'path, and targets of every wire', subject: 'exact path', run: anyWire },
  ...COMMON_CHECKS,
]

import assert from 'node:assert/strict'
import { ask, type Check, expectError, type GateContext } from '../check.ts'
import { HIDDEN_WORDS, LIMITED_REQUESTS_PER_MINUTE } from '../gate-models.ts'

export const CHAT_PATH = '/v1/chat/completions'
export const CHAT_BODY = {
  model: 'gate/plain',
  messages: [{ role: 'user', content: 'Tell me about rail yards.' }],
}

/** Of fields that the specification has ignored: whatever they hold, nothing changes. */
const IGNORED = {
  tool_choice: 'required',
  parallel_tool_calls: 7,
  stream_options: 'all',
  stop: ['a', 'the'],
  n: 3,
  seed: 'x',
  logprobs: true,
  presence_penalty: 9,
  frequency_penalty: -9,
  user: { id: 1 },
  modalities: ['audio'],
  audio: 1,
  reasoning_effort: 'utmost',
  unheard_of: [null],
}

/** Bodies that are refused, and the parameter that the answer names. */
const REFUSED: ReadonlyArray<readonly [body: unknown, param: string]> = [
  [{ model: 'gate/plain' }, 'messages'],
  [{ ...CHAT_BODY, messages: [] }, 'messages'],
  [{ ...CHAT_BODY, messages: [{ role: 'developer', content: 'x' }] }, 'messages[0].role'],
  [{ ...CHAT_BODY, model: 7 }, 'model'],
  [{ ...CHAT_BODY, temperature: 9 }, 'temperature'],
  [{ ...CHAT_BODY, max_tokens: 0 }, 'max_tokens'],
  [{ ...CHAT_BODY, max_tokens: 5, max_completion_tokens: 5 }, 'max_tokens'],
  [{ ...CHAT_BODY, routing_profile: 'fast' }, 'routing_profile'],
  [{ ...CHAT_BODY, provider: { zdrr: true } }, 'provider.zdrr'],
]

const exactPath = async (context: GateContext) => {
  assert.equal((await ask(context, CHAT_PATH, { body: CHAT_BODY })).status, 200)
  const other = await ask(context, CHAT_PATH, { method: 'GET' })
  expectError(other, 'method_not_allowed', 405)
  assert.equal(other.headers.get('allow'), 'POST')
  for (const path of ['/chat/completions', `${CHAT_PATH}/more`, '/v1/chat'])
    expectError(await ask(context, path, { body: CHAT_BODY }), 'surface_unavailable', 404)
}

const authHeader = async (context: GateContext) => {
  const { key } = context
  const ways = [
    [{}, 'missing_api_key'],
    [{ 'x-api-key': key }, 'missing_api_key'],
    [{ authorization: `Bearer ${key.slice(0, -1)}` }, 'invalid_api_key'],
    [{ authorization: 'Bearer sk-sy-none' }, 'invalid_api_key'],
  ] as const
  for (const [headers, code] of ways) {
    const refused = await ask(context, CHAT_PATH, { body: CHAT_BODY, key: null, headers })
    expectError(refused, code, 401)
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
  }
}

const requiredFields = async (context: GateContext) => {
  for (const [body, param] of REFUSED) {
    const error = expectError(await ask(context, CHAT_PATH, { body }), 'invalid_request', 400)
    assert.equal(error.param, param, `${error.param} is named for ${JSON.stringify(body)}`)
  }
}

const ignoredFields = async (context: GateContext) => {
  const plain = await ask(context, CHAT_PATH, { body: CHAT_BODY })
  const ignoring = await ask(context, CHAT_PATH, { body: { ...CHAT_BODY, ...IGNORED } })
  assert.equal(ignoring.status, 200, ignoring.text)
  const choicesOf = ({ json }: { json: unknown }) => (json as { choices: unknown }).choices
  assert.deepEqual(choicesOf(ignoring), choicesOf(plain))
  const [forwarded] = context.received('words-12.tag-gate').slice(-1) as [Record<string, unknown>]
  const leaked = Object.keys(IGNORED).filter((name) => name in forwarded && name !== 'stream_options')
  assert.deepEqual(leaked, [], 'forwarded to the provider')
}

const errors = async (context: GateContext) => {
  const chat = (body: unknown, headers = {}) => ask(context, CHAT_PATH, { body, headers })
  expectError(await chat('{"model":'), 'invalid_json', 400)
  expectError(await chat('x', { 'content-type': 'text/plain' }), 'unsupported_media_type', 415)
  expectError(await chat({ ...CHAT_BODY, model: 'gate/none' }), 'model_not_found', 404)
  const preferences = await chat({ ...CHAT_BODY, provider: { only: ['nobody'] } })
  expectError(preferences, 'no_provider_available', 503)
  assert.equal(preferences.headers.get('x-should-retry'), 'false')
  // What a provider refuses us is no fault of the client's key or balance.
  for (const model of ['gate/failing', 'gate/refusing']) {
    const failed = await chat({ ...CHAT_BODY, model })
    const code = failed.status === 502 ? 'all_providers_failed' : 'no_provider_available'
    const { message } = expectError(failed, code, 502, 503)
    for (const word of HIDDEN_WORDS) assert.ok(!String(message).includes(word), `the message names ${word}`)
  }
}

const rateLimits = async (context: GateContext) => {
  const limited = { body: CHAT_BODY, key: context.limitedKey }
  for (let call = 1; call <= LIMITED_REQUESTS_PER_MINUTE; call++) {
    const { status, headers, text } = await ask(context, CHAT_PATH, limited)
    assert.equal(status, 200, text)
    assert.equal(headers.get('x-ratelimit-limit-requests'), String(LIMITED_REQUESTS_PER_MINUTE))
    assert.equal(headers.get('x-ratelimit-remaining-requests'), String(LIMITED_REQUESTS_PER_MINUTE - call))
    for (const name of ['limit-tokens', 'remaining-tokens', 'reset-requests', 'reset-tokens'])
      assert.match(headers.get(`x-ratelimit-${name}`) ?? '', /^\d+$/, name)
  }
  const refused = await ask(context, CHAT_PATH, limited)
  expectError(refused, 'rate_limit_exceeded', 429)
  const wait = Number(refused.headers.get('retry-after'))
  assert.ok(wait >= 1 && wait <= 60, `Retry-After is ${wait}`)
}

/** What a request of a chat completion has to be, and what is said of one that is not. */
export const CHAT_REQUEST_CHECKS: readonly Check[] = [
  { name: 'exact path and method', subject: 'exact path', run: exactPath },
  { name: 'bearer key and nothing else', subject: 'auth header', run: authHeader },
  { name: 'required fields and ranges', subject: 'required fields', run: requiredFields },
  { name: 'ignored fields change nothing', subject: 'ignored fields', run: ignoredFields },
  { name: 'one error body, true statuses', subject: 'errors', run: errors },
  { name: 'limits and their headers', subject: 'rate limits', run: rateLimits },
]

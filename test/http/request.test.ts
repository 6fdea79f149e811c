import { Webhook } from 'standardwebhooks'
import { beforeEach, describe, expect, test } from 'vitest'
import { readHolds } from '../../src/billing/holds/admission.ts'
import { readConfig } from '../../src/config.ts'
import { GUARDRAIL_PURPOSE } from '../../src/core/guardrails/guardrail.ts'
import { newId } from '../../src/core/kernel/ids.ts'
import { accountKeys } from '../../src/platform/redis/redis-keys.ts'
import { createSealer } from '../../src/platform/sealing.ts'

import type { RecordedRequest } from '../../tools/simulated-providers/request-log.ts'
import { eventually } from '../helpers/eventually.ts'
import { testAccount, testStack, testWebhookReceiver } from '../helpers/resources.ts'
import { CHAT_PATH, expectError, MESSAGES, readStream, recordOf, textOf } from './wire.ts'

/** The simulated model that most tests call; its name finds the request at the provider. */
const UPSTREAM = 'words-12'
const TOOL = { type: 'function', function: { name: 'find_train', parameters: { type: 'object' } } }
const SCHEMA_FORMAT = {
  type: 'json_schema',
  json_schema: { name: 'train', strict: true, schema: { type: 'object', properties: {} } },
}

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: UPSTREAM }],
    'test/echo': [{ at: 'alpha', model: 'echo' }],
    'test/small': { max_output_tokens: 100, offers: [{ at: 'alpha', model: 'words-12.tag-small' }] },
    'test/vision': {
      input_modalities: ['text', 'image', 'audio', 'file'],
      offers: [{ at: 'alpha', model: 'words-12.tag-vision' }],
    },
  },
  environment: { DEFAULT_COMPLETION_LIMIT: '777', WEBHOOKS_ALLOW_PRIVATE: 'true' },
})
const owner = testAccount(stack, '20.00')
const service = testWebhookReceiver()

type Body = Record<string, unknown>

/** Sends a body, or its text, and returns what arrived at the provider, found by a word that only this request says. */
async function forwarded(
  body: Body | string,
  headers: Record<string, string> = {},
): Promise<RecordedRequest & { body: Body }> {
  stack.providers.log.clear()
  const response = await fetch(stack.url + CHAT_PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json', ...headers },
    body:
      typeof body === 'string' ? body : JSON.stringify({ model: 'test/plain', messages: MESSAGES, ...body }),
  })
  expect({ status: response.status, body: await response.text() }).toMatchObject({ status: 200 })
  expect(stack.providers.log.requests).toHaveLength(1)
  return stack.providers.log.requests[0] as RecordedRequest & { body: Body }
}

/** What every request to a provider holds; nothing else may be there without having been asked for. */
const ALWAYS = {
  model: UPSTREAM,
  messages: MESSAGES,
  stream: true,
  stream_options: { include_usage: true },
  max_tokens: 777,
}

describe('what reaches the provider', () => {
  test('is the bare minimum where the client asks nothing else', async () => {
    expect((await forwarded({})).body).toEqual(ALWAYS)
    expect((await forwarded({ stream: true })).body).toEqual(ALWAYS)
  })

  test('holds every supported field as sent', async () => {
    const supported = { temperature: 0, top_p: 1, tools: [TOOL], response_format: SCHEMA_FORMAT }
    const { body } = await forwarded(supported)
    expect(body).toEqual({ ...ALWAYS, ...supported })
    expect(JSON.stringify(body.response_format)).toBe(JSON.stringify(SCHEMA_FORMAT))
  })

  test.each(['max_tokens', 'max_completion_tokens'])(
    'takes %s as the one completion limit',
    async (field) => {
      expect((await forwarded({ [field]: 33 })).body).toEqual({ ...ALWAYS, max_tokens: 33 })
    },
  )

  test("a completion limit is bounded by the model's own maximum", async () => {
    expect((await forwarded({ model: 'test/small' })).body.max_tokens).toBe(100)
    expect((await forwarded({ model: 'test/small', max_tokens: 5_000 })).body.max_tokens).toBe(100)
  })

  test('never holds an ignored or unknown field, of whatever type', async () => {
    for (const value of [null, 0, -1, true, 'text', [], {}, [{ deep: [1] }], { include_usage: false }]) {
      const ignored = Object.fromEntries(IGNORED.map((field) => [field, value]))
      expect((await forwarded(ignored)).body).toEqual(ALWAYS)
    }
  })

  test('holds no routing field', async () => {
    const { body } = await forwarded({
      model: 'test/plain:floor',
      models: ['test/plain:floor', 'test/small'],
      routing_profile: 'eco',
      provider: { order: ['alpha'], zdr: true, sort: 'price' },
    })
    expect(body).toEqual(ALWAYS)
  })

  test('carries no header of the client', async () => {
    const { headers } = await forwarded(
      {},
      {
        cookie: 'session=secret',
        'user-agent': 'client/1.0',
        'x-request-id': 'the-clients-own',
        'x-forwarded-for': '203.0.113.9',
        'x-api-key': 'other-secret',
        'openai-organization': 'org-of-client',
        'idempotency-key': 'headers-1',
        referer: 'https://client.example',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
    )
    const expected = ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host']
    expect(Object.keys(headers).sort()).toEqual(expected)
    expect(headers['content-type']).toBe('application/json')
  })
})

const IGNORED = [
  'tool_choice',
  'parallel_tool_calls',
  'stream_options',
  'stop',
  'n',
  'seed',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'user',
  'modalities',
  'audio',
  'reasoning_effort',
  'metadata',
  'store',
  'functions',
  'function_call',
  'service_tier',
  'transforms',
  'an_unknown_field',
  'base_url',
  'api_key',
]

describe('messages', () => {
  test('keep only role, content, name and tool_call_id', async () => {
    const { body } = await forwarded({
      messages: [
        { role: 'system', content: 'Be brief.', cache_control: { type: 'ephemeral' } },
        { role: 'user', name: 'ann', content: 'Hello.', id: 7, metadata: {} },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find_train', arguments: '{}' } }],
          function_call: { name: 'x', arguments: '' },
          reasoning_content: 'hm',
          audio: { id: 'a' },
        },
        { role: 'tool', tool_call_id: 'call_1', name: 'find_train', content: '{}', extra: true },
        { role: 'assistant', content: 'Well.', prefix: true },
        { role: 'user', content: 'Yes?' },
      ],
    })
    // Without its call a result answers nothing, so it is told in words.
    expect(body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: 'ann:\n\nHello.\n\nResult of the tool call (find_train, call_1):\n\n{}',
      },
      { role: 'assistant', content: 'Well.' },
      { role: 'user', content: 'Yes?' },
    ])
  })

  test('keep the known fields of multimodal arrays to the byte, and no others', async () => {
    const content = [
      { type: 'text', text: 'Grüße 漢字 🎉 \u0000 \u2028 "quoted" \\' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'https://images.example/cat.png?a=1&b=2' } },
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
      { type: 'text', text: '' },
    ]
    const sent = content.map((part) => ({ cache_control: { type: 'ephemeral' }, ...part, other: [[1]] }))
    const { body } = await forwarded({ model: 'test/vision', messages: [{ role: 'user', content: sent }] })
    const [message] = body.messages as [{ content: unknown }]
    expect(JSON.stringify(message.content)).toBe(JSON.stringify(content))
  })

  test('keep every character of a string, but for half a surrogate pair, which strict servers refuse', async () => {
    const text = `\u0000\u0007\t\r\n\u007f\u2028\u2029 \ud800 lone, 👩‍👩‍👧 joined, e\u0301 combined, \ufeff mark, "\\/`
    const { body } = await forwarded({ messages: [{ role: 'user', content: text }] })
    expect((body.messages as [{ content: string }])[0].content).toBe(text.toWellFormed())
  })

  test('up to 2,048 messages are forwarded', async () => {
    const messages = Array.from({ length: 2_048 }, (_, index) => ({ role: 'user', content: `${index}` }))
    expect((await forwarded({ messages })).body.messages).toEqual(messages)
  })
})

describe('tools', () => {
  test('reach the first request, whatever else the history holds', async () => {
    const messages = [...MESSAGES, { role: 'assistant', content: 'Yes?' }, ...MESSAGES]
    expect((await forwarded({ messages, tools: [TOOL] })).body.tools).toEqual([TOOL])
  })

  test('do not reach a request whose history holds a tool result', async () => {
    const messages = [...MESSAGES, { role: 'tool', tool_call_id: 'call_1', content: '{}' }]
    expect((await forwarded({ messages, tools: [TOOL] })).body).not.toHaveProperty('tools')
  })

  test('reach the provider with numbers and order of names as written', async () => {
    const parameters = '{"properties":{"10":{"maximum":9223372036854775807},"2":{"default":1.0}}}'
    const tools = `[{"type":"function","function":{"name":"find_train","parameters":${parameters}}}]`
    const format = `{"type":"json_schema","json_schema":{"name":"train","schema":${parameters}}}`
    const { text } = await forwarded(
      `{"model":"test/plain","messages":${JSON.stringify(MESSAGES)},"tools": ${tools},"response_format":${format}}`,
    )
    expect(text).toContain(`"tools":${tools}`)
    expect(text).toContain(`"response_format":${format}`)
  })

  test('that differ only in what parsing loses make another request for an Idempotency-Key', async () => {
    const send = (maximum: string) =>
      fetch(stack.url + CHAT_PATH, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${owner.key}`,
          'content-type': 'application/json',
          'idempotency-key': 'schemas that differ',
        },
        body: `{"model":"test/plain","messages":${JSON.stringify(MESSAGES)},"tools":[{"maximum":${maximum}}]}`,
      })
    expect((await send('9223372036854775807')).status).toBe(200)
    expect((await send('9223372036854775806')).status).toBe(409)
    expect((await send('9223372036854775807')).status).toBe(200)
  })

  test('that are empty are left out', async () => {
    expect((await forwarded({ tools: [] })).body).toEqual(ALWAYS)
  })
})

describe('`null` equals an absent field', () => {
  test('in every optional field', async () => {
    const optional = [
      'models',
      'routing_profile',
      'stream',
      'max_tokens',
      'max_completion_tokens',
      'provider',
    ]
    const parameters = ['temperature', 'top_p', 'tools', 'response_format']
    const nulls = Object.fromEntries([...optional, ...parameters].map((field) => [field, null]))
    expect((await forwarded(nulls)).body).toEqual(ALWAYS)
  })
})

describe('a guardrail', () => {
  const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  type Asked = { id: string; point: 'prompt' | 'completion'; texts: string[] } & Record<string, unknown>
  /** What the service answers; the tests set it. Null: nothing. */
  let judge: (asked: Asked) => object | null
  beforeEach(() => {
    service.received.length = 0
    judge = () => ({ action: 'allow' })
    service.answer = (response, _index, { body }) => {
      const answer = judge(JSON.parse(body))
      if (answer) response.end(JSON.stringify(answer))
    }
  })
  const asked = (): Asked[] => service.received.map(({ body }) => JSON.parse(body))
  const hideAnn = ({ texts }: Asked) => ({
    action: 'replace',
    texts: texts.map((text) => text.replaceAll('Ann', '<PERSON>')),
  })
  const AT_PROMPT = { points: ['prompt'] }
  const AT_ANSWER = { points: ['completion'] }

  /** A new account, all of whose keys the service guards. */
  async function guarded(settings: object = {}) {
    const account = await stack.account('20.00')
    const id = newId('guard')
    const sealer = createSealer(readConfig(stack.environment).masterKeys, GUARDRAIL_PURPOSE)
    await stack.postgres.guardrail.create({
      data: {
        ...{
          id,
          accountId: account.accountId,
          kind: 'http',
          url: service.url,
          points: ['prompt', 'completion'],
        },
        ...{ secretSealed: sealer.seal(SECRET, id), mayReplace: true, timeoutMs: 10_000, onFailure: 'deny' },
        ...settings,
      },
    })
    return account
  }
  const post = (path: string, body: object, key: string, init: RequestInit = {}) =>
    fetch(stack.url + path, {
      method: 'POST',
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
      body: JSON.stringify({ model: 'test/echo', ...body }),
    })
  const say = (content: string) => ({ messages: [{ role: 'user', content }] })
  /** That an account has paid nothing, and holds nothing. */
  async function expectUntouched(accountId: string): Promise<void> {
    const { record } = accountKeys(accountId, stack.redis)
    expect(readHolds(await stack.redis.shard(0).hgetall(record))).toEqual([])
    expect(await stack.postgres.callRecord.count({ where: { accountId } })).toBe(0)
  }

  test('is asked with a signed request, before the call and on its answer', async () => {
    const { key, keyId, accountId } = await guarded()
    const response = await post(CHAT_PATH, { ...say('hello'), user: 'u1' }, key)
    expect(await textOf(response)).toBe('hello')
    await stack.settled(accountId)
    const { id: callId } = await recordOf(stack, response)
    const id = response.headers.get('x-request-id')
    const told = {
      id,
      model: 'test/echo',
      account: accountId,
      key: { id: keyId, name: 'test' },
      texts: ['hello'],
    }
    expect(asked()).toEqual([
      { ...told, point: 'prompt', call_id: null, user: 'u1' },
      { ...told, point: 'completion', call_id: callId, user: null },
    ])
    for (const { body, headers } of service.received)
      new Webhook(SECRET).verify(body, headers as Record<string, string>)
  })

  test('is created, tested, changed for one key and deleted under /v2, with the scope for it', async () => {
    const { key, keyId, accountId } = await stack.account('20.00', { scopes: ['guardrails'] })
    const send = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${stack.url}/v2/guardrails${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return {
        status: response.status,
        ...((await response.json()) as { guardrail?: object; secret?: string | null }),
      }
    }
    judge = hideAnn
    expect((await post(CHAT_PATH, say('Ann'), key)).status).toBe(200)
    const created = await send('POST', '', { url: service.url, points: ['prompt'] })
    expect(created).toMatchObject({ status: 200, secret: expect.stringMatching(/^whsec_/) })
    const defaults = { key_id: null, kind: 'http', may_replace: false, timeout_ms: 2_000, on_failure: 'deny' }
    expect(created.guardrail).toMatchObject({
      ...defaults,
      points: ['prompt'],
      has_secret: true,
      settings: {},
    })
    const tested = await send('POST', '/test', { text: 'Ann' })
    expect(tested).toMatchObject({ action: 'failed', message: 'it may not replace texts', text: null })
    const changed = await send('POST', '', { url: service.url, may_replace: true })
    expect(changed).toMatchObject({ secret: null, guardrail: { may_replace: true } })
    expect(await send('POST', '/test', { text: 'Ann' })).toMatchObject({
      action: 'replace',
      text: '<PERSON>',
    })
    for (const { body, headers } of service.received)
      new Webhook(created.secret!).verify(body, headers as Record<string, string>)
    expect(await textOf(await post(CHAT_PATH, say('Ann'), key))).toBe('<PERSON>')

    const ofKey = {
      key_id: keyId,
      kind: 'presidio',
      url: service.url,
      secret: 'its key',
      settings: { language: 'de' },
    }
    expect(await send('POST', '', ofKey)).toMatchObject({ secret: null, guardrail: { has_secret: true } })
    const { secret: _, ...kept } = { ...ofKey, url: `${service.url}/other` }
    expect(await send('POST', '', kept)).toMatchObject({ status: 200, guardrail: { has_secret: true } })
    const elsewhere = { ...kept, url: 'http://127.0.0.1:9' }
    expect(await send('POST', '', elsewhere)).toMatchObject({ status: 400 })
    expect(await send('POST', '', { ...elsewhere, secret: null })).toMatchObject({
      status: 200,
      guardrail: { has_secret: false },
    })
    const { data } = (await send('GET', '')) as unknown as { data: Array<{ key_id: string | null }> }
    expect(data.map(({ key_id }) => key_id)).toEqual([null, keyId])
    expect(JSON.stringify(data)).not.toMatch(/whsec|its key/)
    expect(await send('DELETE', `?key_id=${keyId}`)).toMatchObject({ status: 200, deleted: true })
    expect(await send('DELETE', '')).toMatchObject({ status: 200, key_id: null })
    expect(await send('DELETE', '')).toMatchObject({ status: 404 })
    expect(await textOf(await post(CHAT_PATH, say('Ann'), key))).toBe('Ann')
    expect(await send('POST', '', { ...ofKey, key_id: owner.keyId })).toMatchObject({ status: 400 })
    expect(await send('POST', '', { url: service.url, secret: 'short' })).toMatchObject({ status: 400 })
    const others = await stack.account('20.00')
    const refused = await post('/v2/guardrails', { url: service.url }, others.key)
    expect((await expectError(refused, 403, 'not_permitted')).message).toContain('guardrails')
    const actions = await stack.postgres.accountAction.findMany({
      where: { accountId },
      select: { action: true },
    })
    expect(actions.filter(({ action }) => action === 'guardrail.set')).toHaveLength(5)
  })

  test('that denies a prompt keeps it from being a call', async () => {
    judge = () => ({ action: 'deny', code: 'no-names', message: 'Leave out names.' })
    const { key, keyId, accountId } = await guarded()
    stack.providers.log.clear()
    const error = await expectError(await post(CHAT_PATH, say('Ann'), key), 400, 'guardrail_denied')
    expect(error.message).toMatch(/nothing is charged \(no-names\): Leave out names\./)
    expect(error.metadata).toEqual({ guardrail_code: 'no-names' })
    expect(stack.providers.log.requests).toEqual([])
    await expectUntouched(accountId)
    // Account holders find it under their refused requests.
    const refused = { keyId, code: 'guardrail_denied', requests: 1n }
    await eventually(async () =>
      expect(await stack.postgres.refusedRequest.findMany({ where: { accountId } })).toMatchObject([refused]),
    )
  })

  const LONG = `Ann, ${'and so on, '.repeat(3_000)}`
  test.each<[path: string, body: object]>([
    [CHAT_PATH, say('Ann')],
    ['/v2/chat/completions', say(LONG)],
    ['/v2/messages', { ...say(LONG), max_tokens: 20 }],
    ['/v2/responses', { input: LONG, store: false }],
  ])('that replaces a prompt decides what the provider gets: %s', async (path, body) => {
    judge = hideAnn
    const { key } = await guarded(AT_PROMPT)
    stack.providers.log.clear()
    const response = await post(path, body, key)
    expect({ status: response.status, body: await response.text() }).toMatchObject({ status: 200 })
    const [{ body: sent }] = stack.providers.log.requests as [RecordedRequest]
    expect(JSON.stringify(sent)).toContain('<PERSON>')
    expect(JSON.stringify(sent)).not.toContain('Ann')
  })

  test.each([
    ['whole', false, true],
    ['as a stream that is held back', true, true],
    ['as a stream', true, false],
  ])(
    'that denies an answer ends a call that is charged, and says so: %s',
    async (_how, stream, mayReplace) => {
      judge = () => ({ action: 'deny', code: 'secret' })
      const { key, accountId } = await guarded({ ...AT_ANSWER, mayReplace })
      const response = await post(CHAT_PATH, { ...say('hello there'), stream }, key)
      const text = await response.text()
      const error = response.status === 200 ? readStream(text).last.error : JSON.parse(text).error
      expect(response.status).toBe(stream && !mayReplace ? 200 : 400)
      expect(error).toMatchObject({
        code: 'guardrail_denied',
        message: expect.stringMatching(/the call is charged/),
      })
      expect(text.includes('hello')).toBe(stream && !mayReplace)
      await stack.settled(accountId)
      const plain = await post(CHAT_PATH, say('hello there'), owner.key)
      await plain.text()
      await stack.settled(owner.accountId)
      const { chargePico, status } = await recordOf(stack, response)
      expect(status).toBe('completed')
      expect(chargePico).toBe((await recordOf(stack, plain)).chargePico)
    },
  )

  test('that replaces an answer decides what is seen of it: streamed, repeated, stored, and in background', async () => {
    judge = hideAnn
    const { key } = await guarded(AT_ANSWER)
    const headers = { 'idempotency-key': 'guarded' }
    const streamed = { ...say('Ann is here, says Ann'), stream: true }
    for (const expected of ['first', 'repeat']) {
      const text = await (await post(CHAT_PATH, streamed, key, { headers })).text()
      expect(readStream(text), expected).toMatchObject({
        content: '<PERSON> is here, says <PERSON>',
        isDone: true,
      })
      expect(text).not.toContain('Ann')
    }
    expect(service.received).toHaveLength(2)
    const read = async (id: string) =>
      (await fetch(`${stack.url}/v2/responses/${id}`, { headers: { authorization: `Bearer ${key}` } })).json()
    for (const background of [false, true]) {
      const body = { input: 'Ann is here', background }
      const { id } = (await (await post('/v2/responses', body, key)).json()) as { id: string }
      const stored = await eventually(async () => {
        const response = (await read(id)) as { status: string; output: unknown }
        expect(response.status).toBe('completed')
        return response
      })
      expect(JSON.stringify(stored.output)).toContain('<PERSON> is here')
    }
  })

  test('is asked about an answer of the response cache too', async () => {
    const { key } = await guarded(AT_ANSWER)
    const headers = { 'x-shuntyard-cache': '60' }
    await (await post(CHAT_PATH, say('cached Ann'), key, { headers })).text()
    judge = () => ({ action: 'deny' })
    const hit = await eventually(async () => {
      const response = await post(CHAT_PATH, say('cached Ann'), key, { headers })
      expect(response.headers.get('x-shuntyard-cache')).toBe('hit')
      return response
    })
    expect((await expectError(hit, 400, 'guardrail_denied')).message).toMatch(/nothing is charged/)
  })

  test.each<[string, (texts: string[]) => object | null]>([
    ['does not answer', () => null],
    ['answers what is no verdict', () => ({})],
    ['replaces another number of texts', (texts) => ({ action: 'replace', texts: [...texts, 'more'] })],
  ])('that %s lets calls pass or denies them, as it is set', async (_how, answer) => {
    judge = ({ texts }) => answer(texts)
    const open = await guarded({ onFailure: 'allow', timeoutMs: 100 })
    expect(await textOf(await post(CHAT_PATH, say('hello'), open.key))).toBe('hello')
    const closed = await guarded({ ...AT_PROMPT, timeoutMs: 100 })
    const refused = await post(CHAT_PATH, say('hello'), closed.key)
    expect((await expectError(refused, 503, 'guardrail_unavailable')).message).toMatch(/nothing is charged/)
    await expectUntouched(closed.accountId)
    const answered = await guarded({ ...AT_ANSWER, timeoutMs: 100 })
    const lost = await post(CHAT_PATH, say('hello'), answered.key)
    expect(lost.headers.get('x-should-retry')).toBe('false')
    expect((await expectError(lost, 503, 'guardrail_unavailable')).message).toMatch(/the call is charged/)
  })

  test('lets go of a call whose client leaves while it is asked', async () => {
    const asking = Promise.withResolvers<void>()
    judge = () => {
      asking.resolve()
      return null
    }
    const { key, accountId } = await guarded(AT_ANSWER)
    const client = new AbortController()
    const left = post(CHAT_PATH, say('hello'), key, { signal: client.signal })
    await asking.promise
    client.abort()
    await expect(left).rejects.toThrow()
    await stack.settled(accountId)
    judge = () => ({ action: 'allow' })
    expect(await textOf(await post(CHAT_PATH, say('again'), key))).toBe('again')
    await stack.settled(accountId)
    expect((await stack.command('audit')).code).toBe(0)
  })
})

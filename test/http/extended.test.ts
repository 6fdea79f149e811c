import OpenAI from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Wire } from '../../src/core/catalog/catalog.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { PLAIN_WIRES } from '../helpers/wires.ts'
import { type Chunk, caller, expectError, MESSAGES, readStream, recordOf } from './wire.ts'

const PATH = '/v2/chat/completions'
const at = (wire: Wire, suffix = '') => `${wire.replaceAll('-', '')}${suffix}`
const perWire = (prefix: string, behaviour: string, fields: Record<string, unknown> = {}) =>
  Object.fromEntries(
    PLAIN_WIRES.map((wire) => [
      `${prefix}/${wire}`,
      { ...fields, offers: [{ at: at(wire), model: `${behaviour}.tag-${wire}`, wire }] },
    ]),
  )

/** Each mention is a call; the simulated models make them one a turn. */
const FIVE_CALLS = 'Use add, then multiply, then add, then add, then multiply.'
const NUMBERS = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } }
const definition = (name: string) => ({
  type: 'function' as const,
  function: { name, description: 'Calculates.', parameters: NUMBERS },
})
const TOOLS = [definition('add'), definition('multiply')]

let client: OpenAI

const stack = testStack({
  models: {
    ...perWire('plain', 'words-12'),
    ...perWire('parallel', 'words-12.parallel'),
    ...perWire('reasoning', 'reasoning-20.words-12', { reasoning: true }),
    ...perWire('cut', 'reasoning-20.words-12.cut-after-5', { reasoning: true, auto: false }),
    // Every other call dies, before its content or within it, and another provider, of another wire, goes on.
    'dying/before': {
      auto: false,
      offers: [
        { at: 'alpha', model: 'words-12.every-2-reset', cost: '0.10' },
        { at: at('anthropic-messages', '2'), model: 'words-12', wire: 'anthropic-messages', cost: '0.60' },
      ],
    },
    'dying/within': {
      auto: false,
      offers: [
        { at: 'beta', model: 'words-12.every-2-cut-after-3', cost: '0.10' },
        { at: at('anthropic-messages', '4'), model: 'words-12', wire: 'anthropic-messages', cost: '0.60' },
      ],
    },
    'dying/alone': { auto: false, offers: [{ at: 'gamma', model: 'words-12.cut-after-3' }] },
    'mixed/wires': [
      { at: at('anthropic-messages', '3'), model: 'words-12', wire: 'anthropic-messages', cost: '0.10' },
      { at: 'delta', model: 'words-12', cost: '0.60' },
    ],
    'plain/reasons': {
      reasoning: true,
      supported_parameters: ['tools'],
      offers: [{ at: 'epsilon', model: 'words-12.tag-reasons' }],
    },
    'plain/claude': {
      supported_parameters: ['tools', 'response_format'],
      offers: [
        {
          at: at('anthropic-messages', '5'),
          model: 'words-12.tag-claude-sonnet-5',
          wire: 'anthropic-messages',
        },
      ],
    },
    'plain/fixed': {
      supported_parameters: ['tools'],
      offers: [{ at: 'epsilon', model: 'words-12.tag-fixed' }],
    },
    'plain/toolless': {
      auto: false,
      supported_parameters: ['temperature'],
      offers: [{ at: 'epsilon', model: 'words-12.tag-toolless' }],
    },
  },
  environment: { RETRY_BUDGET_PERCENT: '100', RETRY_BUDGET_FLOOR: '10000' },
})
const owner = testAccount(stack, '20.00')
beforeAll(() => {
  client = new OpenAI({ apiKey: owner.key, baseURL: `${stack.url}/v2`, maxRetries: 0 })
})

const post = (body: Record<string, unknown>, headers = {}) =>
  fetch(stack.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ messages: MESSAGES, ...body }),
  })

/** The results of tools, numbered by call. */
function countingTools() {
  let calls = 0
  return TOOLS.map((tool) => ({
    ...tool,
    function: {
      ...tool.function,
      parse: (json: string) => JSON.parse(json) as object,
      function: () => `result ${++calls}`,
    },
  }))
}
const FIVE_RESULTS = /result 1; result 2; result 3; result 4; result 5/

async function runLoop(model: string, stream: boolean) {
  const asked = { model, messages: [{ role: 'user' as const, content: FIVE_CALLS }], tools: countingTools() }
  const runner = stream
    ? client.chat.completions.runTools({ ...asked, stream, stream_options: { include_usage: true } })
    : client.chat.completions.runTools(asked)
  return { text: await runner.finalContent(), messages: runner.messages, usage: await runner.totalUsage() }
}

describe.each(PLAIN_WIRES)('a loop of tools on the wire %s, by the official client library', (wire) => {
  test.each([
    ['whole', false],
    ['streamed', true],
  ] as const)('takes five turns, %s', async (_, stream) => {
    const { text, messages, usage } = await runLoop(`plain/${wire}`, stream)
    expect(text).toMatch(FIVE_RESULTS)
    const calls = messages.flatMap((message) => ('tool_calls' in message && message.tool_calls) || [])
    expect(calls.map((call) => call.type === 'function' && call.function.name)).toEqual([
      'add',
      'multiply',
      'add',
      'add',
      'multiply',
    ])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(5)
    for (const { id } of calls) expect(id).toMatch(/^call_[A-Za-z0-9]+$/)
    expect(usage.completion_tokens).toBeGreaterThan(12)
  })

  test('takes all calls of one turn, and one at a time where that is asked', async () => {
    const { text, messages } = await runLoop(`parallel/${wire}`, true)
    expect(text).toMatch(FIVE_RESULTS)
    expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(2)
    if (wire === 'google-generate-content') return
    const { choices } = await client.chat.completions.create({
      model: `parallel/${wire}`,
      messages: [{ role: 'user', content: FIVE_CALLS }],
      tools: TOOLS,
      parallel_tool_calls: false,
    })
    expect(choices[0]!.message.tool_calls).toHaveLength(1)
  })

  test('calls the tool that is demanded, or none', async () => {
    const asked = { model: `plain/${wire}`, messages: MESSAGES as never, tools: TOOLS }
    const called = async (tool_choice: OpenAI.ChatCompletionToolChoiceOption) => {
      const { choices } = await client.chat.completions.create({ ...asked, tool_choice })
      return choices[0]!.message.tool_calls?.map((call) => call.type === 'function' && call.function.name)
    }
    expect(await called('required')).toEqual(['add'])
    expect(await called({ type: 'function', function: { name: 'multiply' } })).toEqual(['multiply'])
    expect(await called('none')).toBeUndefined()
  })

  test('shows what the model reasons, and says so in the usage where it is reported', async () => {
    const asked = {
      model: `reasoning/${wire}`,
      reasoning_effort: 'high' as const,
      messages: MESSAGES as never,
    }
    const whole = await client.chat.completions.create(asked)
    const { reasoning, content } = whole.choices[0]!.message as { reasoning?: string; content: string }
    expect(reasoning!.split(' ')).toHaveLength(20)
    expect(content.split(' ')).toHaveLength(12)
    expect(whole.usage).toMatchObject({ completion_tokens: 32 })
    expect(whole.usage!.completion_tokens_details).toEqual(
      wire === 'anthropic-messages' ? undefined : { reasoning_tokens: 20 },
    )

    let streamed = ''
    let text = ''
    const stream = await client.chat.completions.create({ ...asked, stream: true })
    for await (const { choices } of stream) {
      const delta = choices[0]?.delta as { reasoning?: string; content?: string }
      if (delta.reasoning) expect(text).toBe('')
      streamed += delta.reasoning ?? ''
      text += delta.content ?? ''
    }
    expect([streamed, text]).toEqual([reasoning, content])
  })

  test('shown reasoning before a broken stream is charged, and the stream ends with an error', async () => {
    const response = await post({ model: `cut/${wire}`, stream: true })
    const { chunks, isDone, last } = readStream(await response.text())
    const shown = chunks.map(({ choices }) => choices[0]?.delta.reasoning ?? '').join('')
    expect(shown.split(' ')).toHaveLength(5)
    expect({ isDone, code: last.error?.code }).toEqual({ isDone: false, code: 'all_providers_failed' })
    expect(last.choices[0]!.finish_reason).toBe('error')
    await stack.settled(owner.accountId)
    const record = await recordOf(stack, response)
    expect(record).toMatchObject({ status: 'interrupted', usageSource: 'counted' })
    expect(record.completionTokens).toBeGreaterThanOrEqual(5)
  })
})

test.each(PLAIN_WIRES.filter((wire) => wire !== 'responses'))(
  'a tool loop stops at its stop sequences on the wire %s',
  async (wire) => {
    const asked = { model: `plain/${wire}`, messages: MESSAGES as never }
    const full = await client.chat.completions.create(asked)
    const [kept] = full.choices[0]!.message.content!.split(' answer')
    const cut = await client.chat.completions.create({ ...asked, stop: [' answer'] })
    expect(cut.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: kept } })
  },
)

describe('a provider that dies in a loop of tools', () => {
  test('before its content is replaced, whatever the wire of the other', async () => {
    const { text, messages } = await runLoop('dying/before', true)
    expect(text).toMatch(FIVE_RESULTS)
    expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(6)
    const asked = stack.providers.log.requests.filter(({ provider }) => provider === 'anthropicmessages2')
    expect(asked.length).toBeGreaterThanOrEqual(2)
  })

  test('within a call is replaced by one that makes the same call', async () => {
    const { text, messages } = await runLoop('dying/within', true)
    expect(text).toMatch(FIVE_RESULTS)
    expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(6)
    const asked = stack.providers.log.requests.filter(({ provider }) => provider === 'anthropicmessages4')
    // Once for each call that died; by then its offer may stand behind for its failures.
    expect(asked.length).toBeGreaterThanOrEqual(3)
  })

  test('within a call, where no other is, leaves no half of it: an error, and no end', async () => {
    const body = { model: 'dying/alone', messages: [{ role: 'user', content: FIVE_CALLS }], tools: TOOLS }
    const response = await post({ ...body, stream: true })
    const { isDone, last } = readStream(await response.text())
    expect({ isDone, code: last.error?.code }).toEqual({ isDone: false, code: 'all_providers_failed' })
    await expect(
      client.chat.completions.create({ ...body, stream: true } as never).then(async (stream) => {
        for await (const _ of stream as unknown as AsyncIterable<Chunk>);
      }),
    ).rejects.toThrow()
    // Nobody has seen half of a whole response: another provider gives all of it.
    const whole = await post({ ...body, model: 'dying/within' })
    expect(((await whole.json()) as OpenAI.ChatCompletion).choices[0]!.finish_reason).toBe('tool_calls')
  })
})

describe('the fields of an extended request', () => {
  test('choose the offers that honour them', async () => {
    for (const field of [{ seed: 1 }, { logprobs: true }, { frequency_penalty: 1 }]) {
      const { choices } = await client.chat.completions.create({
        model: 'mixed/wires',
        messages: MESSAGES as never,
        ...field,
      })
      expect(choices[0]!.message.content).not.toBeNull()
    }
    const used = stack.providers.log.requests.map(({ provider }) => provider)
    expect(used).not.toContain('anthropicmessages3')
    expect(used.filter((provider) => provider === 'delta')).toHaveLength(3)
  })

  test.each([
    [
      'top_logprobs',
      { logprobs: true, top_logprobs: 1, provider: { ignore: [] } },
      'plain/anthropic-messages',
    ],
    ['parallel_tool_calls', { tools: TOOLS, parallel_tool_calls: false }, 'plain/google-generate-content'],
    ['tools', { tools: TOOLS }, 'plain/toolless'],
    ['response_format', { response_format: { type: 'json_object' } }, 'plain/toolless'],
    ['stop', { stop: 'x' }, 'plain/fixed'],
  ])('are refused with their name where no offer honours %s', async (name, fields, model) => {
    const refused = await post({ model, ...fields })
    const error = await expectError(refused, 422, 'unsupported_shape')
    expect(Object.keys(fields)).toContain(error.param)
    expect(error.message).toContain(`\`${error.param}\``)
    if (name !== 'top_logprobs') expect(error.param).toBe(name)
    const loose = await post({ model, ...fields, provider: { require_parameters: false } })
    expect(loose.status).toBe(200)
  })

  test('a schema is the structured output of a model on the messages wire', async () => {
    const schema = {
      type: 'object',
      properties: { town: { type: 'string' }, platform: { type: 'integer', minimum: 1 } },
      required: ['town', 'platform'],
    }
    const format = { type: 'json_schema', json_schema: { name: 'place', strict: true, schema } }
    const response = await post({ model: 'plain/claude', response_format: format })
    expect(response.status).toBe(200)
    const { choices } = (await response.json()) as { choices: Array<{ message: { content: string } }> }
    expect(JSON.parse(choices[0]!.message.content)).toEqual({
      town: expect.any(String),
      platform: expect.any(Number),
    })
    const [sent] = stack.providers.log.requests
      .filter(({ model }) => model === 'words-12.tag-claude-sonnet-5')
      .map(({ body }) => body as { output_config: unknown; system?: unknown })
    expect(sent!.output_config).toMatchObject({ format: { type: 'json_schema' } })
    expect(sent!.system).toBeUndefined()
  })

  const SAMPLING = { temperature: 0.2, top_p: 0.5, seed: 7, presence_penalty: 1, frequency_penalty: 0.5 }
  test.each([
    ['temperature', SAMPLING, 'plain/reasons', 'words-12.tag-reasons'],
    ['temperature', SAMPLING, 'plain/fixed', 'words-12.tag-fixed'],
    ['seed', { seed: 7, presence_penalty: 1 }, 'plain/anthropic-messages', 'words-12.tag-anthropic-messages'],
    [
      'reasoning_effort',
      { reasoning_effort: 'low' },
      'plain/chat-completions',
      'words-12.tag-chat-completions',
    ],
  ])(
    'that are hints, such as %s, are left out and named, unless they are required',
    async (first, hints, model, tag) => {
      const response = await post({ model, ...hints })
      expect(response.status).toBe(200)
      expect(response.headers.get('x-ignored-parameters')?.split(', ').toSorted()).toEqual(
        Object.keys(hints).toSorted(),
      )
      const sent = stack.providers.log.requests.findLast((request) => request.model === tag)!.body
      for (const name of Object.keys(hints)) expect(sent).not.toHaveProperty(name)
      const required = await post({ model, ...hints, provider: { require_parameters: true } })
      expect((await expectError(required, 422, 'unsupported_shape')).param).toBe(first)
    },
  )

  test('that are hints exclude no model of a list of fallbacks, and reach one that takes them', async () => {
    const hints = { temperature: 0.2, seed: 7 }
    const taken = await post({ model: 'plain/chat-completions', ...hints })
    expect(taken.headers.get('x-ignored-parameters')).toBeNull()
    const sent = stack.providers.log.requests.findLast(
      ({ model }) => model === 'words-12.tag-chat-completions',
    )!
    expect(sent.body).toMatchObject(hints)
    const listed = await post({ models: ['plain/reasons', 'plain/chat-completions'], ...hints })
    expect(listed.headers.get('x-ignored-parameters')).toBe('temperature, seed')
    expect(((await listed.json()) as { model: string }).model).toBe('plain/reasons')
    const auto = await post({ messages: MESSAGES, ...hints, reasoning_effort: 'low' })
    expect(auto.status).toBe(200)
  })

  test.each(['chat-completions', 'google-generate-content'] as const)(
    'give log probabilities on %s, whole and streamed alike',
    async (wire) => {
      const asked = { model: `plain/${wire}`, messages: MESSAGES as never, logprobs: true, top_logprobs: 2 }
      const whole = await client.chat.completions.create(asked)
      const { logprobs, message } = whole.choices[0]!
      expect(logprobs!.content!.map(({ token }) => token).join('')).toBe(message.content)
      for (const { top_logprobs: top } of logprobs!.content!) expect(top).toHaveLength(2)
      const streamed: unknown[] = []
      for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true }))
        streamed.push(...(choices[0]?.logprobs?.content ?? []))
      expect(streamed).toEqual(logprobs!.content)
    },
  )

  test('give usage in a chunk of its own where it is asked for, in the last one unless it is refused', async () => {
    const streamOf = async (fields: object) =>
      readStream(await (await post({ model: 'plain/chat-completions', stream: true, ...fields })).text())
    const refused = await streamOf({ stream_options: { include_usage: false } })
    expect(refused.chunks.filter(({ usage }) => usage)).toEqual([])
    const plain = await streamOf({})
    expect(plain.chunks.filter(({ usage }) => usage)).toEqual([plain.last])
    expect(plain.last.choices[0]!.finish_reason).toBe('stop')
    const told = await streamOf({ stream_options: { include_usage: true } })
    expect(told.isDone).toBe(true)
    expect(told.last).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 12, total_tokens: 22 },
    })
    expect(told.chunks.at(-2)!.choices[0]!.finish_reason).toBe('stop')
  })

  test('leave the choice to auto, whose target stays hidden', async () => {
    const response = await post({ messages: [{ role: 'user', content: FIVE_CALLS }], tools: TOOLS, seed: 1 })
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ model: 'auto', choices: [{ finish_reason: 'tool_calls' }] })
    expect(text).not.toMatch(/plain\/|parallel\/|reasoning\/|mixed\/|dying\//)
  })
})

test('an Idempotency-Key belongs to one request at one surface', async () => {
  const body = { model: 'reasoning/chat-completions', stream: true, messages: MESSAGES }
  const headers = { 'idempotency-key': 'extended-1' }
  const first = await (await post(body, headers)).text()
  expect(await (await post(body, headers)).text()).toBe(first)
  expect(first).toContain('"reasoning":')
  await expectError(await caller(stack, owner)(body, { headers }), 409, 'idempotency_conflict')
})

test('a request of the stable contract is not extended by its fields', async () => {
  const response = await caller(
    stack,
    owner,
  )({
    model: 'reasoning/chat-completions',
    reasoning_effort: 'high',
    logprobs: true,
    seed: 1,
    tools: TOOLS,
    tool_choice: 'required',
  })
  const { choices, usage } = (await response.json()) as { choices: object[]; usage: object }
  expect(Object.keys(choices[0]!)).toEqual(['index', 'message', 'finish_reason'])
  expect(choices[0]).toMatchObject({ finish_reason: 'stop' })
  expect(JSON.stringify(choices)).not.toContain('reasoning')
  expect(Object.keys(usage)).toEqual(['prompt_tokens', 'completion_tokens', 'total_tokens'])
})

test('every call is held for and charged for exactly', async () => {
  await stack.settled(owner.accountId)
  const records = await stack.postgres.callRecord.findMany({ where: { accountId: owner.accountId } })
  expect(records.length).toBeGreaterThan(60)
  for (const { status, promptTokens, completionTokens, chargePico, holdPico } of records) {
    expect(chargePico <= holdPico).toBe(true)
    if (status === 'completed')
      expect(chargePico).toBe(BigInt(promptTokens) * 1_000_000n + BigInt(completionTokens) * 2_000_000n)
  }
  expect((await stack.command('audit')).code).toBe(0)
})

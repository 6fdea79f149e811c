import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const QUESTION = [{ role: 'user' as const, content: 'Tell me about rail yards.' }]
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const FIND_TRAIN = {
  type: 'function' as const,
  function: {
    name: 'find_train',
    description: 'Finds a train.',
    parameters: {
      type: 'object',
      properties: { town: { type: 'string' }, platform: { type: 'integer' } },
      required: ['town', 'platform'],
    },
  },
}
const TOOL_QUESTION = [{ role: 'user' as const, content: 'Use find_train to "Basel" from platform 7.' }]

let client: OpenAI

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/json': [{ at: 'alpha', model: 'words-12.broken-json' }],
    'test/vision': {
      input_modalities: ['text', 'image'],
      offers: [{ at: 'alpha', model: 'words-20.tag-vision' }],
    },
    'test/paced': [{ at: 'alpha', model: 'words-2000.rate-40.tag-paced' }],
    'test/paced-whole': [{ at: 'alpha', model: 'words-2000.rate-40.tag-whole' }],
    'test/flaky': [{ at: 'alpha', model: 'words-12.flaky-2' }],
    'test/failing': [{ at: 'alpha', model: 'status-500.tag-failing' }],
    'test/cut': [{ at: 'alpha', model: 'words-12.cut-after-5' }],
    'test/zdr-less': [{ at: 'beta', model: 'words-12.tag-zdr' }],
  },
  environment: { QUEUE_WAIT_MS: '1000', BREAKER_FAILURES: '1000' },
})
const owner = testAccount(stack, '20.00')
beforeAll(() => {
  client = clientOf(owner.key)
})

/** The library as it comes, with its own retries off unless asked for, and its requests counted. */
function clientOf(
  apiKey: string,
  options: { maxRetries?: number; onResponse?: (status: number) => unknown } = {},
) {
  return new OpenAI({
    apiKey,
    baseURL: `${stack.url}/v1`,
    maxRetries: options.maxRetries ?? 0,
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      await options.onResponse?.(response.status)
      return response
    },
  })
}

const failureOf = async (call: PromiseLike<unknown>): Promise<APIError> => {
  const failure = await Promise.resolve(call).then(
    () => null,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(APIError)
  return failure as APIError
}

describe('the official client library', () => {
  test('creates a completion', async () => {
    const completion = await client.chat.completions.create({ model: 'test/plain', messages: QUESTION })
    expect(completion.id).toMatch(/^chatcmpl_/)
    expect(completion.object).toBe('chat.completion')
    expect(completion.model).toBe('test/plain')
    expect(completion.choices[0]!.message.role).toBe('assistant')
    expect(completion.choices[0]!.message.content!.split(' ')).toHaveLength(12)
    expect(completion.choices[0]!.finish_reason).toBe('stop')
    expect(completion.usage).toEqual({ prompt_tokens: 10, completion_tokens: 12, total_tokens: 22 })
  })

  test('reads the request id and the rate-limit headers of an answer', async () => {
    const { data, request_id, response } = await client.chat.completions
      .create({ model: 'test/plain', messages: QUESTION })
      .withResponse()
    expect(data.choices).toHaveLength(1)
    expect(request_id).toMatch(/^[0-9a-f-]{36}$/)
    expect(response.headers.get('x-ratelimit-remaining-requests')).toMatch(/^\d+$/)
  })

  test('streams with `for await`', async () => {
    const stream = await client.chat.completions.create({
      model: 'test/plain',
      messages: QUESTION,
      stream: true,
    })
    let content = ''
    let finish: string | null = null
    for await (const chunk of stream) {
      expect(chunk.object).toBe('chat.completion.chunk')
      content += chunk.choices[0]!.delta.content ?? ''
      finish = chunk.choices[0]!.finish_reason ?? finish
    }
    const whole = await client.chat.completions.create({ model: 'test/plain', messages: QUESTION })
    expect(content).toBe(whole.choices[0]!.message.content)
    expect(finish).toBe('stop')
  })

  test('streams with its `.stream()` helper', async () => {
    const runner = client.chat.completions.stream({ model: 'test/plain', messages: QUESTION })
    const deltas: string[] = []
    runner.on('content', (delta) => deltas.push(delta))
    const final = await runner.finalChatCompletion()
    expect(deltas.join('')).toBe(final.choices[0]!.message.content)
    expect(final.choices[0]!.finish_reason).toBe('stop')
    expect(final.usage?.completion_tokens).toBe(12)
  })

  test('gets a tool call on one turn', async () => {
    const completion = await client.chat.completions.create({
      model: 'test/plain',
      messages: TOOL_QUESTION,
      tools: [FIND_TRAIN],
      tool_choice: 'auto',
    })
    const [choice] = completion.choices
    expect(choice!.finish_reason).toBe('tool_calls')
    const [call] = choice!.message.tool_calls!
    if (call?.type !== 'function') throw new Error('no function call')
    expect(call.function.name).toBe('find_train')
    expect(JSON.parse(call.function.arguments)).toEqual({ town: 'Basel', platform: 7 })
  })

  test('gets a streamed tool call, put together by its helper', async () => {
    const runner = client.chat.completions.stream({
      model: 'test/plain',
      messages: TOOL_QUESTION,
      tools: [FIND_TRAIN],
    })
    const final = await runner.finalChatCompletion()
    const [call] = final.choices[0]!.message.tool_calls!
    if (call?.type !== 'function') throw new Error('no function call')
    expect(JSON.parse(call.function.arguments)).toEqual({ town: 'Basel', platform: 7 })
    expect(final.choices[0]!.finish_reason).toBe('tool_calls')
  })

  test('carries a conversation of several turns, a tool result among them', async () => {
    const completion = await client.chat.completions.create({
      model: 'test/plain',
      messages: [
        { role: 'system', content: 'Be brief.' },
        ...TOOL_QUESTION,
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find_train', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '{"departs":"07:04"}' },
        { role: 'user', content: 'When does it leave?' },
      ],
      tools: [FIND_TRAIN],
    })
    expect(completion.choices[0]!.message.content).toMatch(/\w/)
  })

  test.each([
    { type: 'json_object' as const },
    {
      type: 'json_schema' as const,
      json_schema: {
        name: 'train',
        schema: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] },
      },
    },
  ])('gets JSON for response_format $type, broken JSON repaired', async (responseFormat) => {
    for (const model of ['test/plain', 'test/json']) {
      const completion = await client.chat.completions.create({
        model,
        messages: [{ role: 'user', content: 'Which town is "Basel"?' }],
        response_format: responseFormat,
      })
      const value = JSON.parse(completion.choices[0]!.message.content!)
      if (responseFormat.type === 'json_schema') expect(value).toEqual({ town: 'Basel' })
      else expect(value).toHaveProperty('answer')
    }
  })

  test('sends an image', async () => {
    const completion = await client.chat.completions.create({
      model: 'test/vision',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: PIXEL, detail: 'low' } },
          ],
        },
      ],
    })
    expect(completion.choices[0]!.message.content).toContain('You sent 1 image.')
  })

  test('lists one opaque model', async () => {
    const models = await client.models.list()
    expect(models.data.map((model) => model.id)).toEqual(['auto'])
  })
})

describe("the official client library's error classes", () => {
  const ask = (by: OpenAI, body: Record<string, unknown>) =>
    failureOf(by.chat.completions.create({ messages: QUESTION, ...body } as never))

  test.each<[string, Record<string, unknown>, new (...args: never[]) => APIError, number, string]>([
    ['400', { model: 'test/plain', temperature: 9 }, BadRequestError, 400, 'invalid_request'],
    ['404', { model: 'test/none' }, NotFoundError, 404, 'model_not_found'],
    [
      '422',
      {
        model: 'test/plain',
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PIXEL } }] }],
      },
      UnprocessableEntityError,
      422,
      'unsupported_shape',
    ],
    ['502', { model: 'test/failing' }, InternalServerError, 502, 'all_providers_failed'],
    [
      '503',
      { model: 'test/zdr-less', provider: { zdr: true } },
      InternalServerError,
      503,
      'no_provider_available',
    ],
  ])('get %s', async (_status, body, errorClass, status, code) => {
    const failure = await ask(client, body)
    expect(failure).toBeInstanceOf(errorClass)
    expect(failure).toMatchObject({ status, code })
    expect(failure.requestID).toMatch(/./)
    expect(await ask(client, { ...body, stream: true })).toMatchObject({ status, code })
  })

  test('get 401', async () => {
    const failure = await ask(clientOf('sk-sy-not-a-key'), { model: 'test/plain' })
    expect(failure).toBeInstanceOf(AuthenticationError)
    expect(failure).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'authentication_error' })
  })

  test('get 402 with what the balance affords', async () => {
    const poor = await stack.account('0.000001')
    const failure = await ask(clientOf(poor.key), { model: 'test/plain', max_tokens: 1000 })
    expect(failure).toMatchObject({ status: 402, code: 'insufficient_balance', type: 'billing_error' })
    expect((failure.error as { metadata: object }).metadata).toMatchObject({ available_usd: '0.000001' })
  })

  test('get 403', async () => {
    const failure = await ask(clientOf(await stack.adminKey()), { model: 'test/plain' })
    expect(failure).toBeInstanceOf(PermissionDeniedError)
    expect(failure).toMatchObject({ status: 403, code: 'not_permitted' })
  })

  test('get 409, which is not retried', async () => {
    const statuses: number[] = []
    const retrying = clientOf(owner.key, { maxRetries: 2, onResponse: (status) => statuses.push(status) })
    const headers = { 'Idempotency-Key': 'one-key-two-bodies' }
    await retrying.chat.completions.create({ model: 'test/plain', messages: QUESTION }, { headers })
    const failure = await failureOf(
      retrying.chat.completions.create({ model: 'test/plain', messages: QUESTION, top_p: 0.5 }, { headers }),
    )
    expect(failure).toBeInstanceOf(ConflictError)
    expect(failure).toMatchObject({ status: 409, code: 'idempotency_conflict' })
    expect(statuses).toEqual([200, 409])
  })

  test('get 429', async () => {
    const limited = await stack.account('1.00', { requestsPerMinute: 1 })
    const by = clientOf(limited.key)
    await by.chat.completions.create({ model: 'test/plain', messages: QUESTION })
    const failure = await ask(by, { model: 'test/plain' })
    expect(failure).toBeInstanceOf(RateLimitError)
    expect(failure).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(Number(failure.headers?.get('retry-after'))).toBeLessThanOrEqual(60)
  })

  test('get an error in the middle of a stream', async () => {
    const stream = await client.chat.completions.create({
      model: 'test/cut',
      messages: QUESTION,
      stream: true,
    })
    let content = ''
    const failure = await failureOf(
      (async () => {
        for await (const chunk of stream) content += chunk.choices[0]?.delta.content ?? ''
      })(),
    )
    expect(content.split(' ')).toHaveLength(5)
    expect(failure).toMatchObject({ code: 'all_providers_failed', type: 'upstream_error' })
  })
})

describe("the official client library's retries", () => {
  const counted = (apiKey: string, onStatus: (status: number) => unknown = () => undefined) => {
    const statuses: number[] = []
    const by = clientOf(apiKey, {
      maxRetries: 3,
      onResponse: (status) => {
        statuses.push(status)
        return onStatus(status)
      },
    })
    return {
      statuses,
      create: () => by.chat.completions.create({ model: 'test/plain', messages: QUESTION }),
      by,
    }
  }

  test('get over a 502', async () => {
    const { statuses, by } = counted(owner.key)
    const completion = await by.chat.completions.create({ model: 'test/flaky', messages: QUESTION })
    expect(completion.choices[0]!.message.content).toMatch(/\w/)
    expect(statuses).toEqual([502, 200])
  })

  test('get over a 429 after the time in Retry-After', async () => {
    const single = await stack.account('1.00', { concurrentCalls: 1 })
    const leave = new AbortController()
    const open = await clientOf(single.key).chat.completions.create(
      { model: 'test/paced', messages: QUESTION, stream: true },
      { signal: leave.signal },
    )
    const first429 = Promise.withResolvers<number>()
    const { statuses, create } = counted(single.key, (status) => {
      if (status !== 429) return
      first429.resolve(performance.now())
      leave.abort()
    })
    const completion = await create()
    expect(completion.choices).toHaveLength(1)
    expect(statuses.at(0)).toBe(429)
    expect(statuses.at(-1)).toBe(200)
    expect(performance.now() - (await first429.promise)).toBeGreaterThan(950)
    open.controller.abort()
  })

  test('stop at `x-should-retry: false`', async () => {
    const { statuses, by } = counted(owner.key)
    await failureOf(
      by.chat.completions.create({
        model: 'test/zdr-less',
        messages: QUESTION,
        provider: { zdr: true },
      } as never),
    )
    expect(statuses).toEqual([503])
  })

  test('never repeat a 400, 401, 402, 404 or 422', async () => {
    const poor = await stack.account('0.000001')
    const cases: [string, Record<string, unknown>, number][] = [
      [owner.key, { top_p: 3 }, 400],
      [`${owner.key.slice(0, -1)}_`, {}, 401],
      [poor.key, { max_tokens: 1000 }, 402],
      [owner.key, { model: 'test/none' }, 404],
      [
        owner.key,
        { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PIXEL } }] }] },
        422,
      ],
    ]
    await Promise.all(
      cases.map(async ([apiKey, body, status]) => {
        const { statuses, by } = counted(apiKey)
        await failureOf(
          by.chat.completions.create({ model: 'test/plain', messages: QUESTION, ...body } as never),
        )
        expect(statuses).toEqual([status])
      }),
    )
  })

  test('charge a balance once for each answer, not for each try', async () => {
    const account = await stack.account('1.00')
    const { statuses, by } = counted(account.key)
    await failureOf(by.chat.completions.create({ model: 'test/failing', messages: QUESTION }))
    expect(statuses).toEqual([502, 502, 502, 502])
    await stack.settled(account.accountId)
    const { balancePico } = await stack.postgres.account.findUniqueOrThrow({
      where: { id: account.accountId },
    })
    expect(balancePico).toBe(parseUsd('1.00'))
  })
})

describe("the official client library's abort", () => {
  const RUNS = 5
  /** A tenth of a second, and a busy machine; the answers take fifty seconds when nobody ends them. */
  const ABORTED_WITHIN_MS = 15_000

  /** Milliseconds from the abort to the end of the provider's connection; the median of some runs. */
  async function medianAbortMs(
    model: string,
    start: (signal: AbortSignal, begun: () => void) => Promise<unknown>,
  ): Promise<number> {
    const took: number[] = []
    for (let run = 0; run < RUNS; run++) {
      stack.providers.log.clear()
      const controller = new AbortController()
      const begun = Promise.withResolvers<void>()
      const ended = start(controller.signal, begun.resolve)
      await begun.promise
      const abortedAt = performance.now()
      controller.abort()
      await stack.providers.log.abortedBy((request) => request.model === model)
      took.push(performance.now() - abortedAt)
      await ended
    }
    return took.sort((a, b) => a - b)[Math.floor(RUNS / 2)]!
  }

  test('stops the upstream of a stream at once', async () => {
    const ms = await medianAbortMs('words-2000.rate-40.tag-paced', async (signal, begun) => {
      const stream = await client.chat.completions.create(
        { model: 'test/paced', messages: QUESTION, stream: true },
        { signal },
      )
      // The library ends an aborted stream without an error.
      for await (const chunk of stream) {
        expect(chunk.choices).toHaveLength(1)
        begun()
      }
    })
    expect(ms).toBeLessThan(ABORTED_WITHIN_MS)
  })

  test('stops the upstream of a call that does not stream at once', async () => {
    const ms = await medianAbortMs('words-2000.rate-40.tag-whole', async (signal, begun) => {
      const call = failureOf(
        client.chat.completions.create({ model: 'test/paced-whole', messages: QUESTION }, { signal }),
      )
      await stack.providers.log.arrived(({ model }) => model === 'words-2000.rate-40.tag-whole')
      begun()
      const failure = await call
      expect(failure).toBeInstanceOf(APIUserAbortError)
    })
    expect(ms).toBeLessThan(ABORTED_WITHIN_MS)
  })
})

// Last, since it stops the only dispatch worker for a while.
test("the official client library's retries get over a 408", async () => {
  await stack.dispatch[0]!.stop()
  const statuses: number[] = []
  const by = clientOf(owner.key, {
    maxRetries: 3,
    onResponse: async (status) => {
      statuses.push(status)
      if (statuses.length === 1) await stack.startDispatch()
    },
  })
  const completion = await by.chat.completions.create({ model: 'test/plain', messages: QUESTION })
  expect(completion.choices).toHaveLength(1)
  expect(statuses).toEqual([408, 200])
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../helpers/chat-client.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { openEvents } from '../helpers/open-events.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import type { TestModels } from '../helpers/test-catalog.ts'

/**
 * What a caller and a provider see of a gateway whose providers misbehave: the scenarios of the public suite Failover
 * Bench (methodology 0.1, S01 to S16), restated for the simulated providers. Each client lists two models, of which the
 * first has a faulty provider. Every scenario ends in a whole answer but S13, whose prompt is refused.
 */

const WORDS = 60
const PLAIN = `words-${WORDS}`
/** Each a fault of the first model's provider; the segments of docs/simulated-providers.md. */
const FAULTS = {
  s01: 'flaky-1-status-429-retry-2',
  s02: 'status-429',
  s03: 'flaky-1-status-500',
  s04: 'status-503',
  s05: 'flaky-1-reset',
  s06: 'hang',
  s07: 'first-token-20000',
  s08: 'cut-after-40',
  s09: 'stall-after-20',
  s10: 'malformed-event',
  s11: 'missing-done',
  s12: 'status-400-context',
  s13: 'status-400-policy',
  s14: 'cut-after-40',
  s15: 'flaky-6-status-503',
  s16: 'status-503',
} as const
type Scenario = keyof typeof FAULTS

const FALLBACK = {
  context_length: 200_000,
  list_price: { prompt: '8.00', completion: '10.00' },
  rate: { prompt: '7.00', completion: '9.00' },
}
const models: TestModels = {
  'test/plain': [{ at: 'beta', model: PLAIN }],
  // Says the same, and takes no assistant's turn at the end although its offer says so.
  'test/no-prefill': {
    ...FALLBACK,
    offers: [{ at: 'beta', model: `${PLAIN}.no-prefill`, assistant_prefill: true }],
  },
}
for (const [id, fault] of Object.entries(FAULTS)) {
  models[`test/${id}`] = [{ at: 'alpha', model: `${PLAIN}.${fault}.tag-${id}` }]
  models[`test/${id}-fallback`] = { ...FALLBACK, offers: [{ at: 'beta', model: `${PLAIN}.tag-${id}` }] }
}

/** The defaults of the gateway, which other tests lengthen for busy machines. */
const DEFAULTS = {
  QUEUE_WAIT_MS: '15000',
  CONNECT_TIMEOUT_MS: '5000',
  FIRST_TOKEN_TIMEOUT_MS: '10000',
  LAST_FIRST_TOKEN_TIMEOUT_MS: '30000',
  BODY_TIMEOUT_MS: '30000',
}
/** Their defaults, thirty and ten seconds, would only be waited for. */
const SHORTENED = { IDLE_TIMEOUT_MS: '10000', BREAKER_COOLDOWN_MS: '3000' }

let whole: string

const stack = testStack({ environment: { ...DEFAULTS, ...SHORTENED }, models })
const caller = testAccount(stack, '20.00')
beforeAll(async () => {
  whole = (await ask(caller, { model: 'test/plain' })).text!
  expect(whole.split(' ')).toHaveLength(WORDS)
})
afterAll(async () => {
  await expectLedgerInOrder(stack)
})

interface Seen {
  status: number
  text: string
  model: string | null
  hasUsage: boolean
  errorCode: string | null
  isDone: boolean
  tookMs: number
  id: string | null
}

/** A stream of a client that lists the scenario's model and a healthy one. */
async function streamOf(scenario: Scenario, fallback = `test/${scenario}-fallback`): Promise<Seen> {
  const startedAt = performance.now()
  const seen: Seen = {
    status: 0,
    text: '',
    model: null,
    hasUsage: false,
    errorCode: null,
    isDone: false,
    tookMs: 0,
    id: null,
  }
  const body = {
    models: [`test/${scenario}`, fallback],
    messages: [{ role: 'user', content: 'Tell me about rail yards.' }],
    stream: true,
  }
  const events = await openEvents(caller, '/v1/chat/completions', body, ({ data }) => {
    if (data === '[DONE]') {
      seen.isDone = true
      return
    }
    const chunk = JSON.parse(data)
    seen.id ??= chunk.id
    seen.model = chunk.model
    seen.errorCode ??= chunk.error?.code ?? null
    seen.text += chunk.choices[0]?.delta?.content ?? ''
    seen.hasUsage ||= chunk.usage?.completion_tokens > 0
  })
  const rest = await events.end
  if (events.status !== 200) seen.errorCode = JSON.parse(rest).error.code
  return { ...seen, status: events.status, tookMs: performance.now() - startedAt }
}

/** The answer as nothing had happened. */
const unharmed = () => ({ status: 200, text: whole, errorCode: null, isDone: true })

const requestsOf = (scenario: Scenario, provider: string) =>
  stack.providers.log.requests.filter(
    (request) => request.provider === provider && request.model?.split('.').includes(`tag-${scenario}`),
  )
const primary = (scenario: Scenario) => requestsOf(scenario, 'alpha')
const fallback = (scenario: Scenario) => requestsOf(scenario, 'beta')

/** Requests within so many ms of the first. */
const within = (ms: number, requests: ReturnType<typeof requestsOf>) =>
  requests.filter(({ receivedAt }) => receivedAt - requests[0]!.receivedAt <= ms).length

describe.concurrent('a provider', () => {
  test('S01 that is back in two seconds is asked again then, and no sooner', async ({ expect }) => {
    expect(await streamOf('s01')).toMatchObject(unharmed())
    const [first, second] = primary('s01')
    expect(second!.receivedAt - first!.receivedAt).toBeGreaterThanOrEqual(1_800)
    expect(within(1_500, primary('s01'))).toBe(1)
  })

  test('S02 that limits every call without a time is left for another, and not hammered', async ({
    expect,
  }) => {
    expect(await streamOf('s02')).toMatchObject(unharmed())
    expect(within(3_000, primary('s02'))).toBeLessThanOrEqual(2)
    expect(fallback('s02')).toHaveLength(1)
  })

  test('S03 that fails once is asked once more, and answers', async ({ expect }) => {
    expect(await streamOf('s03')).toMatchObject({ ...unharmed(), model: 'test/s03' })
    expect([primary('s03').length, fallback('s03').length]).toEqual([2, 0])
  })

  test('S04 that is overloaded is left for another after one retry', async ({ expect }) => {
    expect(await streamOf('s04')).toMatchObject({ ...unharmed(), model: 'test/s04-fallback' })
    expect(primary('s04').length).toBeLessThanOrEqual(2)
  })

  test('S05 whose connection is reset before the headers is no failure of the call', async ({ expect }) => {
    expect(await streamOf('s05')).toMatchObject(unharmed())
  })

  test('S06 that never answers is left after the first-token limit, and not asked again', async ({
    expect,
  }) => {
    const seen = await streamOf('s06')
    expect(seen).toMatchObject({ ...unharmed(), model: 'test/s06-fallback' })
    expect(seen.tookMs).toBeGreaterThanOrEqual(10_000)
    expect(seen.tookMs).toBeLessThan(100_000)
    expect(primary('s06')).toHaveLength(1)
  })

  test('S07 whose first token takes twenty seconds is not waited for', async ({ expect }) => {
    const seen = await streamOf('s07')
    expect(seen).toMatchObject({ ...unharmed(), model: 'test/s07-fallback' })
    expect(seen.tookMs).toBeLessThan(15_000)
  })

  test('S08 that breaks off after 40 of 60 tokens truncates no answer', async ({ expect }) => {
    expect(await streamOf('s08')).toMatchObject(unharmed())
  })

  test('S09 that falls silent in its answer is left within 45 s, and calls after it are served', async ({
    expect,
  }) => {
    const seen = await streamOf('s09')
    expect(seen).toMatchObject(unharmed())
    expect(seen.tookMs).toBeLessThan(45_000)
    expect(primary('s09')).toHaveLength(1)
    expect(await ask(caller, { model: 'test/plain' })).toMatchObject({ status: 200, text: whole })
  })

  test('S10 that sends an event that is no JSON is understood without it', async ({ expect }) => {
    expect(await streamOf('s10')).toMatchObject({ ...unharmed(), model: 'test/s10' })
    expect(await ask(caller, { model: 'test/plain' })).toMatchObject({ status: 200, text: whole })
  })

  test('S11 a stream without its end is not waited for, and its usage is reported', async ({ expect }) => {
    const seen = await streamOf('s11')
    expect(seen).toMatchObject({ ...unharmed(), model: 'test/s11', hasUsage: true })
    expect(seen.tookMs).toBeLessThan(8_000)
  })

  test('S12 whose window is too small is asked once, and then a larger one', async ({ expect }) => {
    expect(await streamOf('s12')).toMatchObject({ ...unharmed(), model: 'test/s12-fallback' })
    expect(primary('s12')).toHaveLength(1)
  })

  test('S13 a prompt refused by policy goes to no further provider', async ({ expect }) => {
    expect(await streamOf('s13')).toMatchObject({
      status: 400,
      errorCode: 'content_policy_violation',
      text: '',
    })
    expect([primary('s13').length, fallback('s13').length]).toEqual([1, 0])
  })

  test('S14 that takes over a broken stream and refuses prefill does not show that refusal', async ({
    expect,
  }) => {
    expect(await streamOf('s14', 'test/no-prefill')).toMatchObject(unharmed())
  })

  test('S15 that is down is spared by its breaker while others serve, and used again once it is back', async ({
    expect,
  }) => {
    const down = 6
    const answers: Seen[] = []
    const next = async () => {
      answers.push(await streamOf('s15'))
      return answers.at(-1)!.model
    }
    // The breaker probes after three seconds, and six seconds after that.
    await expect.poll(next, { interval: 1_000 }).toBe('test/s15')
    for (const answer of answers) expect(answer).toMatchObject(unharmed())
    const requests = primary('s15')
    expect(requests[down]!.receivedAt - requests[down - 1]!.receivedAt).toBeLessThan(30_000)
    expect(requests.length).toBeLessThan(answers.length)
    expect(await streamOf('s15')).toMatchObject({ ...unharmed(), model: 'test/s15' })
  })

  test('S16 that fails is not billed for: the call has the name, usage and price of who served it', async ({
    expect,
  }) => {
    const seen = await streamOf('s16')
    expect(seen).toMatchObject({ ...unharmed(), model: 'test/s16-fallback', hasUsage: true })
    expect(primary('s16').length).toBeLessThanOrEqual(2)
    await expect
      .poll(() => stack.postgres.callRecord.count({ where: { id: seen.id! } }), { timeout: 30_000 })
      .toBe(1)
    const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: seen.id! } })
    expect(record.completionTokens).toBe(WORDS)
    expect(record.chargePico).toBe(BigInt(record.promptTokens) * 7_000_000n + BigInt(WORDS) * 9_000_000n)
    const attempts = record.attempts as Array<{ outcome: string; spent?: object }>
    expect(attempts.at(-1)).toMatchObject({ outcome: 'ok' })
    expect(attempts.every(({ spent }) => spent === undefined)).toBe(true)
  })
})

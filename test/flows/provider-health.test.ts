import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { HEALTH_BREAKERS } from '../../src/platform/redis/redis-keys.ts'
import { ask, type Caller, streamed } from '../helpers/chat-client.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

let stack: TestStack
let caller: Caller

const start = async (...[options]: Parameters<typeof startStack>) => {
  stack = await startStack(options)
  caller = await stack.account('20.00')
}
afterEach(async () => {
  await expectLedgerInOrder(stack)
  await stack.close()
})

const askMany = (calls: number, model: string) =>
  Promise.all(Array.from({ length: calls }, () => ask(caller, { model })))
const received = (provider: string) =>
  stack.providers.log.requests.filter((one) => one.provider === provider).length

describe('the circuit breaker of an offer', () => {
  test('opens across two workers, lets one probe through, and closes when the probe succeeds', async () => {
    const failures = 10
    await start({
      dispatchWorkers: 2,
      environment: { BREAKER_FAILURES: '5', BREAKER_COOLDOWN_MS: '2500' },
      models: {
        'test/recovers': [
          { at: 'alpha', model: `words-5.flaky-${failures}-status-503.latency-50`, cost: '0.0001' },
          { at: 'beta', model: 'words-5', cost: '0.50' },
        ],
      },
    })
    // Opens: what fails at alpha is answered by beta.
    while (received('alpha') < 5)
      for (const { status } of await askMany(1, 'test/recovers')) expect(status).toBe(200)
    await expect.poll(() => stack.redis.hlen(HEALTH_BREAKERS)).toBe(1)
    const opened = received('alpha')
    for (const { status } of await askMany(20, 'test/recovers')) expect(status).toBe(200)
    expect(received('alpha')).toBe(opened)

    // Half-open: of many calls at once a single one probes, fails, and opens it again.
    const probed = async () => {
      const before = received('alpha')
      await expect
        .poll(() => askMany(10, 'test/recovers').then(() => received('alpha')), {
          interval: 20,
        })
        .toBeGreaterThan(before)
      return received('alpha') - before
    }
    expect(await probed()).toBe(1)

    // Closes once a probe is answered.
    stack.providers.log.clear()
    await exhaustFaults(failures)
    await expect
      .poll(() => askMany(4, 'test/recovers').then(() => stack.redis.hlen(HEALTH_BREAKERS)), {
        interval: 50,
      })
      .toBe(0)
    // Every worker hears of it, and all calls go to the cheaper offer again.
    const atAlpha = async () => {
      const before = received('alpha')
      await askMany(10, 'test/recovers')
      return received('alpha') - before
    }
    await expect.poll(atAlpha).toBe(10)
  })
})

/** Uses the faults of the recovering model up, around the gateway. */
async function exhaustFaults(failures: number): Promise<void> {
  for (let call = 0; call < failures; call++) {
    await fetch(`${stack.providers.url}/alpha/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({
        model: `words-5.flaky-${failures}-status-503.latency-50`,
        messages: [{ role: 'user', content: 'x' }],
      }),
    })
  }
}

test('a worker that stood still for longer than its limits serves its calls and opens no breaker', async () => {
  const calls = 16
  const limitMs = 1_500
  await start({
    processes: ['dispatch'],
    environment: {
      LAST_FIRST_TOKEN_TIMEOUT_MS: String(limitMs),
      IDLE_TIMEOUT_MS: String(limitMs),
      BREAKER_FAILURES: '5',
    },
    models: {
      'test/begins-late': [{ at: 'alpha', model: 'words-5.held' }],
      'test/goes-on': [{ at: 'alpha', model: 'words-30.held-10' }],
      'test/plain': [{ at: 'alpha', model: 'words-5' }],
    },
  })
  const worker = stack.dispatch[0]!
  const silent = Array.from({ length: calls }, () => ask(caller, { model: 'test/begins-late' }))
  const begun = Array.from({ length: calls }, () => streamed(caller, { model: 'test/goes-on' }))
  await expect.poll(() => stack.providers.log.received).toBe(2 * calls)

  worker.pause()
  // The provider answers at once; nobody reads it. The pause is shorter than what its API instance waits for a worker.
  stack.providers.release()
  await delay(limitMs + 2_000)
  worker.resume()

  for (const answer of await Promise.all(silent))
    expect(answer).toMatchObject({ status: 200, finishReason: 'stop' })
  for (const answer of await Promise.all(begun)) expect(answer).toMatchObject({ done: true, errorCode: null })
  expect(await stack.redis.hgetall(HEALTH_BREAKERS)).toEqual({})
  expect(await ask(caller, { model: 'test/plain' })).toMatchObject({ status: 200 })
})

describe('the retry budget', () => {
  test('bounds what a failing provider gets under 500 failing calls', async () => {
    const calls = 500
    const percent = 20
    const floor = 10
    await start({
      dispatchWorkers: 2,
      environment: {
        BREAKER_FAILURES: '1000000',
        RETRY_BUDGET_PERCENT: String(percent),
        RETRY_BUDGET_FLOOR: String(floor),
      },
      models: { 'test/fails': [{ at: 'alpha', model: 'status-500' }] },
    })
    const answers = await askMany(calls, 'test/fails')
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]))
    const retries = stack.providers.log.received - calls
    expect(retries).toBeGreaterThanOrEqual(floor)
    expect(retries).toBeLessThanOrEqual((calls * percent) / 100)
    const charged = await stack.postgres.callRecord.count({ where: { chargePico: { gt: 0 } } })
    expect(charged).toBe(0)
  })
})

import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { allowancePeriod } from '../../src/core/billing/allowance-period.ts'
import { formatUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { allowanceKey } from '../../src/platform/redis/redis-keys.ts'
import { ask, type Caller, type StreamSoFar, stream, type WholeAnswer } from '../helpers/chat-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { expectLedgerInOrder, sweepNow, untilIdle } from '../helpers/ledger.ts'
import { postAs } from '../helpers/requests.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import type { Part } from '../helpers/stack-part.ts'

const CALLS = 2_000
const AT_A_TIME = 30
/** No call may take longer than its deadline and what the gateway allows itself on top. */
const CALL_TIMEOUT_MS = 12_000
const LONGEST_CALL_MS = onBusyMachine(CALL_TIMEOUT_MS + 30_000)
const WORDS = 30

const texts = new Map<string, string>()

/** What is asked, and whether it can be answered at all. */
const MODELS = {
  'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
  'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-60` }],
  'test/late': [{ at: 'alpha', model: `words-${WORDS}.latency-300` }],
  'test/cut': [
    { at: 'alpha', model: `words-${WORDS}.on-alpha-cut-after-5`, cost: '0.10' },
    { at: 'beta', model: `words-${WORDS}.on-alpha-cut-after-5`, cost: '0.50' },
  ],
  'test/fails': [{ at: 'alpha', model: 'status-500' }],
  'test/flaky': [{ at: 'alpha', model: `words-${WORDS}.every-5-reset` }],
}
const NAMES = Object.keys(MODELS)

const stack = testStack({
  processes: true,
  durableRedis: true,
  databaseProxy: true,
  dispatchWorkers: 2,
  apis: 2,
  environment: {
    JOB_LOCK_MS: '1500',
    QUEUE_WAIT_MS: '6000',
    CALL_TIMEOUT_MS: String(CALL_TIMEOUT_MS),
    NON_STREAMING_CALL_TIMEOUT_MS: String(CALL_TIMEOUT_MS),
    BREAKER_FAILURES: '1000000',
    RETRY_BUDGET_FLOOR: '100000',
    TOKENS_PER_MINUTE: '1000000000',
    SHUTDOWN_GRACE_MS: '1000',
  },
  models: { ...MODELS, 'test/held': [{ at: 'alpha', model: `words-${WORDS}.held` }] },
})
const owner = testAccount(stack, '100.00')
beforeAll(async () => {
  for (const model of NAMES) {
    if (model !== 'test/fails') texts.set(model, (await ask(at(0), { model })).text!)
  }
})

const at = (index: number): Caller => ({ url: stack.urls[index]!, key: owner.key })

/** The instance that is never killed, and the one that is. */
const SAFE = 0
const MORTAL = 1

interface Made {
  model: string
  instance: number
  tookMs: number
  answer: WholeAnswer | StreamSoFar | 'connection lost'
}

const isCutOff = (answer: Made['answer']): answer is 'connection lost' =>
  answer === 'connection lost' ||
  ('done' in answer && !answer.done && answer.status === 200 && answer.errorCode === null)

async function make(random: () => number): Promise<Made> {
  const model = NAMES[Math.floor(random() * NAMES.length)]!
  const instance = random() < 0.7 ? SAFE : MORTAL
  const caller = at(instance)
  const streaming = random() < 0.5
  const startedAt = Date.now()
  const answer = await (streaming
    ? stream(caller, { model }).then((open) => open.end)
    : ask(caller, { model })
  ).catch(() => 'connection lost' as const)
  return { model, instance, tookMs: Date.now() - startedAt, answer }
}

/** Kills and restarts parts in random order, unless it is told to stop before. Returns what it did. */
async function storm(random: () => number, isOver: () => boolean): Promise<string[]> {
  const log: string[] = []
  const workers: Part[] = [...stack.dispatch]
  let settlement = stack.settlement
  const swap = async (end: (part: Part) => Promise<void>) => {
    const victim = workers.shift()!
    const started = stack.startDispatch()
    await end(victim)
    workers.push(await started)
  }
  const faults: Record<string, () => Promise<unknown>> = {
    'kill a dispatch worker': () => swap((worker) => worker.kill()),
    'stop a dispatch worker': () => swap((worker) => worker.stop()),
    'kill the settlement worker': async () => {
      await settlement.kill()
      settlement = await stack.startSettlement()
    },
    'kill an API instance': async () => {
      await stack.apis[MORTAL]!.kill()
      await stack.restartApi(MORTAL)
    },
    'kill Redis': async () => {
      await stack.redisServer.kill()
      await delay(Math.floor(300 * random()))
      await stack.redisServer.restart()
    },
    'take PostgreSQL away': async () => {
      stack.databaseProxy!.refuse()
      await delay(Math.floor(500 * random()))
      stack.databaseProxy!.restore()
    },
  }
  const left = Object.keys(faults)
  while (left.length > 0 && !isOver()) {
    const [name] = left.splice(Math.floor(random() * left.length), 1)
    log.push(name!)
    await faults[name!]!()
    await delay(Math.floor(300 + 700 * random()))
  }
  return log
}

function expectTruth({ model, instance, tookMs, answer }: Made): void {
  expect(tookMs).toBeLessThan(LONGEST_CALL_MS)
  if (isCutOff(answer)) {
    // Only an instance that is killed may leave a client without a word.
    expect(instance).toBe(MORTAL)
    return
  }
  if (answer.status !== 200) return expect(answer.errorCode).not.toBeNull()
  const text = texts.get(model) ?? ''
  if ('done' in answer && !answer.done) {
    expect(answer).toMatchObject({ finishReason: 'error' })
    expect(answer.errorCode).not.toBeNull()
    expect(text.startsWith(answer.text)).toBe(true)
    return
  }
  expect(answer).toMatchObject({ text, finishReason: 'stop', errorCode: null })
}

test('no call is charged twice or reported falsely while parts are killed and restarted under load', async () => {
  const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31))
  console.info(`chaos seed ${seed} (TEST_SEED repeats it)`)
  const random = seeded(seed)
  const made: Made[] = []
  let started = 0
  let over = false
  const storming = storm(seeded(seed + 1), () => over).finally(() => {
    over = true
  })
  const callOn = async () => {
    while (started++ < CALLS && !over) made.push(await make(random))
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, callOn))
  over = true
  const faults = await storming
  for (const one of made) expectTruth(one)

  await untilIdle(stack)
  const cutOff = made.filter(({ answer }) => isCutOff(answer)).length
  // A hold can only be lost with the instance that took it, before it enqueued the call.
  expect(await sweepNow(stack)).toBeLessThanOrEqual(cutOff)
  const completed = made.flatMap(({ answer }) =>
    answer !== 'connection lost' && answer.status === 200 && (!('done' in answer) || answer.done)
      ? [answer.id!]
      : [],
  )
  const records = await stack.postgres.callRecord.findMany({ where: { id: { in: completed } } })
  expect(completed.length).toBeGreaterThan(AT_A_TIME / 4)
  expect(records).toHaveLength(completed.length)
  for (const record of records) expect(record).toMatchObject({ status: 'completed', completionTokens: WORDS })
  console.info(
    `${made.length} calls, ${completed.length} completed, ${cutOff} cut off, faults: ${faults.join(', ')}`,
  )
  console.info(outcomesOf(made))
  expect((await ask(at(0), { model: 'test/plain' })).status).toBe(200)
  await expectLedgerInOrder(stack)
})

test('of five hundred calls at once on the budget of a tag for ten, exactly what it affords is charged, although a worker and an API instance are killed', async () => {
  const { accountId, key } = await stack.account('20.00', { scopes: ['budgets'] })
  const rates = { requestsPerMinute: 1_000_000, concurrentCalls: 10_000 }
  await stack.postgres.account.update({ where: { id: accountId }, data: rates })
  const messages = [{ role: 'user' as const, content: 'Go.' }]
  const body = { model: 'test/held', messages, max_tokens: WORDS, metadata: { team: 'search' } }
  const holdPico = BigInt(promptTokensBound(messages, {})) * 1_000_000n + BigInt(WORDS) * 2_000_000n
  const limitPico = holdPico * 10n
  const rule = { scope: 'tag', tag: 'team', limit_usd: formatUsd(picoUsd(limitPico)) }
  expect((await postAs(key, `${stack.urls[SAFE]}/v2/budgets`, rule)).status).toBe(200)

  const worker = await stack.startDispatch()
  const { log, release } = stack.providers
  const callers = stack.urls.map((url) => ({ url, key }))
  const answers: Array<WholeAnswer | 'connection lost'> = []
  const calls = Array.from({ length: 500 }, async (_, index) => {
    answers.push(await ask(callers[index % 2]!, body).catch(() => 'connection lost' as const))
  })
  const held = () => log.requests.filter(({ model, state }) => state === 'open' && model!.endsWith('held'))
  await expect.poll(() => held().length, { timeout: LONGEST_CALL_MS }).toBeGreaterThanOrEqual(5)
  await Promise.all([worker.kill(), stack.apis[MORTAL]!.kill()])
  await stack.restartApi(MORTAL)
  const answered = async () => {
    release()
    return answers.length
  }
  await expect.poll(answered, { timeout: LONGEST_CALL_MS }).toBe(calls.length)
  const successes = answers.filter((answer) => answer !== 'connection lost' && answer.status === 200)
  expect(successes.length).toBeLessThanOrEqual(10)
  await untilIdle(stack)
  await sweepNow(stack)

  // What the lost calls gave back is spent too.
  const codes: Array<string | null> = []
  while (!codes.includes('key_limit_exceeded'))
    codes.push((await ask(callers[codes.length % 2]!, { ...body, model: 'test/plain' })).errorCode)
  await expectLedgerInOrder(stack)
  const sum = { chargePico: true } as const
  const { _sum } = await stack.postgres.callRecord.aggregate({ where: { accountId }, _sum: sum })
  const leftPico = limitPico - _sum.chargePico!
  expect(leftPico).toBeGreaterThanOrEqual(0n)
  expect(leftPico).toBeLessThan(holdPico)
  const holder = { scope: 'tag', accountId, id: 'team=search' } as const
  const month = allowancePeriod('monthly', Date.now())
  expect(await stack.redis.get(allowanceKey(holder, month.id))).toBe(String(leftPico))
})

/** How many calls ended in which way. */
function outcomesOf(made: Made[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { answer } of made) {
    const end = isCutOff(answer) ? 'cut off' : `${answer.status} ${answer.errorCode ?? ''}`
    counts[end] = (counts[end] ?? 0) + 1
  }
  return counts
}

/** Numbers in [0, 1) that a seed determines (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { ask, type StreamSoFar, stream, type WholeAnswer } from '../helpers/chat-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { expectLedgerInOrder, sweepNow, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const WORDS = 100
/** Far longer than Redis takes to be back after the short outage, on a busy machine too. */
const LOCK_MS = 5_000
const BACK_WITHIN_MS = onBusyMachine(2_000)

let whole: string

const stack = testStack({
  processes: true,
  durableRedis: true,
  dispatchWorkers: 2,
  environment: {
    SHUTDOWN_GRACE_MS: '1000',
    QUEUE_WAIT_MS: '5000',
    JOB_LOCK_MS: String(LOCK_MS),
  },
  models: {
    'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
    'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-50` }],
    'test/late': [{ at: 'alpha', model: `words-${WORDS}.latency-4000` }],
  },
})
const caller = testAccount(stack, '5.00')
beforeAll(async () => {
  whole = (await ask(caller, { model: 'test/plain' })).text!
})

/** Kills Redis without warning and starts it again after a while. Returns when it was back. */
async function outage(ms: number): Promise<number> {
  await stack.redisServer.kill()
  await delay(ms)
  await stack.redisServer.restart()
  return Date.now()
}

/** Milliseconds until a new call is answered. */
async function answeredAfterMs(since: number): Promise<number> {
  await expect
    .poll(async () => (await ask(caller, { model: 'test/plain' })).status, { interval: 20 })
    .toBe(200)
  return Date.now() - since
}

/** This many late calls have reached the provider since its log was cleared. */
const withProvider = (calls: number) =>
  expect
    .poll(() => stack.providers.log.requests.filter(({ model }) => model?.includes('latency')))
    .toHaveLength(calls)

function expectTruth(answer: WholeAnswer | StreamSoFar): void {
  if (answer.status !== 200) {
    expect(answer.errorCode).not.toBeNull()
  } else if ('done' in answer && !answer.done) {
    expect(answer).toMatchObject({ finishReason: 'error' })
    expect(answer.errorCode).not.toBeNull()
    expect(whole.startsWith(answer.text)).toBe(true)
  } else {
    expect(answer).toMatchObject({ text: whole, finishReason: 'stop', errorCode: null })
  }
}

/** What clients got is what was charged: nothing for a failure, the whole for a whole. */
async function expectChargesMatch(answers: Array<WholeAnswer | StreamSoFar>): Promise<void> {
  const completed = answers.filter((answer) => answer.status === 200 && (!('done' in answer) || answer.done))
  const records = await stack.postgres.callRecord.findMany({
    where: { id: { in: completed.map((answer) => answer.id!) } },
  })
  expect(records).toHaveLength(completed.length)
  for (const record of records) {
    expect(record).toMatchObject({ status: 'completed', completionTokens: WORDS })
  }
}

describe('Redis killed and started again', () => {
  test('under streams and calls: nothing hangs, every cut is reported, the ledger is in order', async () => {
    stack.providers.log.clear()
    const streams = await Promise.all(
      Array.from({ length: 12 }, () => stream(caller, { model: 'test/steady' })),
    )
    const late = Array.from({ length: 8 }, () => ask(caller, { model: 'test/late' }))
    await Promise.all([...streams.map((one) => one.said(20)), withProvider(8)])
    const during: Array<Promise<WholeAnswer>> = []
    const calling = setInterval(() => during.push(ask(caller, { model: 'test/plain' })), 50)
    const back = await outage(300)
    expect(await answeredAfterMs(back)).toBeLessThan(BACK_WITHIN_MS)
    clearInterval(calling)
    const answers = [...(await Promise.all(streams.map((one) => one.end))), ...(await Promise.all(late))]
    const others = await Promise.all(during)
    expect(Date.now() - back).toBeLessThan(onBusyMachine(15_000))
    for (const answer of [...answers, ...others]) expectTruth(answer)
    // An outage shorter than a claim costs nobody an answer that had begun.
    expect(answers.filter((answer) => answer.errorCode !== null)).toEqual([])
    await untilIdle(stack)
    await expectChargesMatch([...answers, ...others])
    const charged = await stack.postgres.callRecord.count({
      where: { status: { not: 'completed' }, chargePico: { gt: 0 } },
    })
    expect(charged).toBe(0)
    expect(await sweepNow(stack)).toBe(0)
    await expectLedgerInOrder(stack)
  })

  test('for longer than a claim: streams that had begun end with an error, calls run again', async () => {
    stack.providers.log.clear()
    const streams = await Promise.all(
      Array.from({ length: 10 }, () => stream(caller, { model: 'test/steady' })),
    )
    const late = Array.from({ length: 10 }, () => ask(caller, { model: 'test/late' }))
    await Promise.all([...streams.map((one) => one.said(20)), withProvider(10)])
    const back = await outage(LOCK_MS + 500)
    expect(await answeredAfterMs(back)).toBeLessThan(BACK_WITHIN_MS)
    const answers = [...(await Promise.all(streams.map((one) => one.end))), ...(await Promise.all(late))]
    for (const answer of answers) expectTruth(answer)
    expect(Date.now() - back).toBeLessThan(onBusyMachine(20_000))
    await untilIdle(stack)
    await expectChargesMatch(answers)
    await expectLedgerInOrder(stack)
  })

  test('recovers from three consecutive restarts of Redis', async () => {
    const answers: Array<Promise<WholeAnswer | StreamSoFar>> = []
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < 5; index++) {
        answers.push(ask(caller, { model: 'test/late' }))
        answers.push(stream(caller, { model: 'test/steady' }).then((one) => one.end))
      }
      await delay(200)
      await answeredAfterMs(await outage(200))
    }
    for (const answer of await Promise.all(answers)) expectTruth(answer)
    await untilIdle(stack)
    await expectChargesMatch(await Promise.all(answers))
    expect(await sweepNow(stack)).toBe(0)
    await expectLedgerInOrder(stack)
  })
})

describe('SIGTERM while Redis hangs', () => {
  /** The grace, five seconds to close everything, and the patience of a busy machine. */
  const ENDED_WITHIN_MS = onBusyMachine(6_000)

  test('every process exits on SIGTERM while Redis hangs, at once on a second signal, and callers get an error', async () => {
    const [impatient, ...others] = [...stack.dispatch, ...stack.apis, stack.settlement]
    const streams = await Promise.all([1, 2, 3].map(() => stream(caller, { model: 'test/steady' })))
    stack.providers.log.clear()
    const wholeAnswer = ask(caller, { model: 'test/late' })
    await withProvider(1)
    await Promise.all(streams.map((open) => open.said(20)))
    stack.redisServer.pause()
    for (const { pid } of [impatient!, ...others]) process.kill(pid!, 'SIGTERM')
    process.kill(impatient!.pid!, 'SIGINT')
    const signalledAt = Date.now()
    expect(await impatient!.exited).toBe(1)
    for (const open of streams)
      expect(await open.end).toMatchObject({ errorCode: 'overloaded', finishReason: 'error', done: false })
    expect(await wholeAnswer).toMatchObject({ status: 503, errorCode: 'overloaded' })
    await Promise.all(others.map(({ exited }) => exited))
    expect(Date.now() - signalledAt).toBeLessThan(ENDED_WITHIN_MS)
    stack.redisServer.resume()
  })
})

import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { shardOf } from '../../src/platform/redis/redis-keys.ts'
import { ask, type StreamSoFar, streamed, type WholeAnswer } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { startCluster, startSentinelGroup } from '../helpers/redis-group.ts'
import { filled, testStack } from '../helpers/resources.ts'
import type { TestAccount, TestStack } from '../helpers/stack.ts'

const WORDS = 40
const CLIENTS = 6
const STARTS_WITHIN_MS = 120_000
const MODELS = {
  'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
  'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-40` }],
}
const ENVIRONMENT = { JOB_LOCK_MS: '3000', RECOVERY_GRACE_MS: '500' }

type Answer = (WholeAnswer | StreamSoFar) & { startedAtMs: number }
/** The first is the whole one that all are compared with. */
type Answers = [Answer, ...Answer[]]

/** Clients that call one after another, whole and streamed, until `disturb` has ended and all are served again. */
async function underLoad(callers: TestAccount[], disturb: () => Promise<void>): Promise<Answers> {
  const answers: Answers = [{ ...(await ask(callers[0]!, { model: 'test/plain' })), startedAtMs: Date.now() }]
  let isOver = false
  const client = async (number: number) => {
    const caller = callers[number % callers.length]!
    while (!isOver) {
      const model = number % 3 === 0 ? 'test/plain' : 'test/steady'
      const startedAtMs = Date.now()
      // A connection that breaks has no answer.
      const answer = await (number % 2 === 0 ? ask(caller, { model }) : streamed(caller, { model })).catch(
        () => null,
      )
      if (answer) answers.push({ ...answer, startedAtMs })
      // One that is refused comes back after a moment.
      if (answer?.status !== 200) await delay(100)
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number))
  const untilServed = async (calls: number) => {
    const seen = answers.length
    await expect.poll(() => answers.slice(seen).filter(isWhole).length).toBeGreaterThan(calls)
  }
  await untilServed(CLIENTS)
  await disturb()
  await untilServed(3 * CLIENTS)
  isOver = true
  await Promise.all(clients)
  return answers
}

const isWhole = (answer: Answer) => answer.status === 200 && answer.errorCode === null

/** Nobody read a wrong word, whole answers are charged once, refused calls cost nothing, and the books balance. */
async function expectNothingLostOrDoubled(
  stack: TestStack,
  callers: TestAccount[],
  answers: Answers,
): Promise<void> {
  const whole = answers[0].text!
  await untilIdle(stack)
  for (const answer of answers) {
    if (isWhole(answer)) expect(answer.text).toBe(whole)
    else expect(whole.startsWith(answer.text ?? '')).toBe(true)
  }
  const charged = answers.filter(isWhole)
  const records = await stack.postgres.callRecord.findMany({
    where: { id: { in: charged.map(({ id }) => id!) } },
  })
  expect(records).toHaveLength(charged.length)
  for (const record of records) expect(record).toMatchObject({ status: 'completed', completionTokens: WORDS })
  const read = answers.filter(({ status }) => status === 200).map(({ id }) => id!)
  // A call whose admission was confirmed to nobody may have run; its charge is credited.
  await eventually(async () => {
    const accountId = { in: callers.map((caller) => caller.accountId) }
    const unread = { accountId, id: { notIn: read }, chargePico: { gt: 0 } }
    expect(
      await stack.postgres.callRecord.findMany({ where: unread, select: { id: true, status: true } }),
    ).toEqual([])
  })
  await expectLedgerInOrder(stack)
}

describe('a primary of Sentinels, killed under load with a second of writes that its replica lacks', () => {
  const group = filled(startSentinelGroup, (servers) => servers.close(), STARTS_WITHIN_MS)
  const stack = testStack(() => ({
    redisUrl: group.url,
    processes: ['dispatch'],
    dispatchWorkers: 2,
    models: MODELS,
    environment: ENVIRONMENT,
  }))

  test('loses and doubles nothing, and no client reads a wrong word; nor when the next one falls silent, and no call runs unheard', async () => {
    const callers = [await stack.account('50.00')]
    const answers = await underLoad(callers, async () => {
      await group.stopReplication()
      await delay(1_000)
      await group.primary.kill()
    })
    await expectNothingLostOrDoubled(stack, callers, answers)

    // The former primary comes back as a replica, and takes over from one that falls silent and keeps its connections.
    await group.resumeReplication()
    await group.primary.restart()
    await group.untilReplicated()
    let silentAtMs = 0
    const afterSilence = await underLoad(callers, async () => {
      group.replica.pause()
      silentAtMs = Date.now()
    })
    const failures = afterSilence.filter(
      (answer) => answer.startedAtMs > silentAtMs && !isWhole(answer) && answer.status !== 503,
    )
    expect(failures).toEqual([])
    await expectNothingLostOrDoubled(stack, callers, [...answers, ...afterSilence])
  })
})

const SHARDS = 6

describe('a cluster with six shards under load', () => {
  const cluster = filled(startCluster, (servers) => servers.close(), STARTS_WITHIN_MS)
  const stack = testStack(() => ({
    redisUrl: cluster.url,
    processes: ['dispatch'],
    dispatchWorkers: 2,
    models: MODELS,
    environment: { ...ENVIRONMENT, REDIS_SHARDS: String(SHARDS) },
  }))
  /** Of the node that has the first shard. */
  const port = async () => {
    // Leads the client there.
    await stack.redis.exists('{sy:0}:x')
    return Number(/tcp_port:(\d+)/.exec(await stack.redis.info('server'))![1])
  }

  const ofEveryShard = async () => {
    const found = new Map<number, TestAccount>()
    while (found.size < SHARDS) {
      const account = await stack.account('50.00')
      found.set(shardOf(account.accountId, stack.redis), account)
    }
    return [...found.values()]
  }

  test('loses and doubles nothing when a primary is killed', async () => {
    const killed = await port()
    const callers = await ofEveryShard()
    const answers = await underLoad(callers, () =>
      cluster.members.find((member) => member.port === killed)!.kill(),
    )
    await expectNothingLostOrDoubled(stack, callers, answers)
  })

  test('loses and doubles nothing when a slot moves to another node for three seconds, and no call when its replica is promoted by command', async () => {
    const callers = await ofEveryShard()
    const answers = await underLoad(callers, async () => cluster.moveSlot('{sy:0}:x', await port(), 3_000))
    const afterwards = await underLoad(callers, async () => cluster.failOver(await port()))
    for (const answer of afterwards) if (answer.status === 200) expect(answer.errorCode).toBeNull()
    await expectNothingLostOrDoubled(stack, callers, [...answers, ...afterwards])
  })
})

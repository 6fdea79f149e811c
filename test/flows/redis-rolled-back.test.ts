import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { DISPATCH_QUEUE } from '../../src/platform/queues/queues.ts'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { ask, type OpenStream, stream } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import type { TestStack } from '../helpers/stack.ts'

const WORDS = 100

let whole: string

const stack = testStack({
  processes: ['dispatch'],
  durableRedis: true,
  environment: { WORKER_CONCURRENCY: '1', JOB_LOCK_MS: '5000' },
  models: {
    'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
    'test/short': [{ at: 'alpha', model: 'words-5.first-token-2500' }],
    'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-25` }],
    // A second run comes from beta.
    'test/other': [
      { at: 'alpha', model: `words-${WORDS}.rate-25.different-text.every-2-status-503`, priority: 1 },
      { at: 'beta', model: `words-${WORDS}.rate-25.different-text`, priority: 2 },
    ],
  },
})
const caller = testAccount(stack, '5.00')
beforeAll(async () => {
  whole = (await ask(caller, { model: 'test/plain' })).text!
})
afterEach(() => expectLedgerInOrder(stack))

const jobsIn = (list: 'active' | 'wait', count: number) =>
  expect.poll(() => stack.redis.llen(`${queuePrefix(0)}:${DISPATCH_QUEUE}:${list}`)).toBe(count)

/** A stream that has begun, and of whose claim Redis's disk knows nothing: its call waited there for a slot. */
async function streamBegunSince(model: string): Promise<OpenStream> {
  const short = stream(caller, { model: 'test/short' })
  await jobsIn('active', 1)
  const opening = stream(caller, { model })
  await jobsIn('wait', 1)
  await stack.redisServer.keepState()
  await (await short).end
  const open = await opening
  await open.said(40)
  return open
}

async function rolledBack({ redisServer }: TestStack = stack): Promise<void> {
  await redisServer.killAndRollBack()
  await redisServer.restart()
}

const recordOf = async ({ soFar: { id } }: OpenStream, of: TestStack = stack) => {
  await untilIdle(of)
  return of.postgres.callRecord.findUniqueOrThrow({ where: { id: id! } })
}
const requestsOf = (part: string) =>
  stack.providers.log.requests.filter(({ model }) => model?.includes(part)).length

test('a stream continues with its first run when Redis forgot the claim, and is charged once', async () => {
  const open = await streamBegunSince('test/steady')
  await rolledBack()
  expect(await open.end).toMatchObject({ status: 200, text: whole, done: true, errorCode: null })
  expect(requestsOf('rate-25')).toBe(1)
  expect(await recordOf(open)).toMatchObject({ status: 'completed', completionTokens: WORDS })
})

test('a stream ends truthfully when another worker was first to claim it again, and only what came is charged', async () => {
  const open = await streamBegunSince('test/other')
  const [first] = stack.dispatch
  first!.pause()
  await rolledBack()
  const second = await stack.startDispatch()
  const end = await open.end
  expect(end).toMatchObject({ errorCode: 'all_providers_failed', finishReason: 'error', done: false })

  const record = await recordOf(open)
  const alone = (await ask(caller, { model: 'test/other' })).text!
  expect(alone.startsWith(end.text)).toBe(true)
  first!.resume()
  expect(record).toMatchObject({ status: 'interrupted', servedOfferId: expect.stringContaining('alpha') })
  expect(record.completionTokens).toBeLessThan(WORDS / 2)
  await second.stop()
})

describe('under a lock that lasts longer than Redis takes to be back, also on a busy machine', () => {
  // Where the lock may have expired meanwhile, another worker may have finished the call, and its run here ends.
  const patient = testStack({
    processes: ['dispatch'],
    durableRedis: true,
    environment: { JOB_LOCK_MS: '60000' },
    models: { 'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-25` }] },
  })
  const patientCaller = testAccount(patient, '5.00')

  test('a stream continues under its hold when Redis forgot its admission, and is charged once', async () => {
    await patient.redisServer.keepState()
    const open = await stream(patientCaller, { model: 'test/steady' })
    await open.said(40)
    await rolledBack(patient)
    expect(await open.end).toMatchObject({ status: 200, text: whole, done: true, errorCode: null })
    expect(await recordOf(open, patient)).toMatchObject({ status: 'completed', completionTokens: WORDS })
    await expectLedgerInOrder(patient)
  })
})

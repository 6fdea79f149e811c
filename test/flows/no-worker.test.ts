import { describe, expect, test } from 'vitest'
import { accountKeys, queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { ask, stream } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, untilIdle, waitingCalls } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const QUEUE_WAIT_MS = 8_000

const stack = testStack({
  dispatchWorkers: 0,
  environment: { QUEUE_WAIT_MS: String(QUEUE_WAIT_MS) },
})
const caller = testAccount(stack, '5.00')

const figures = () => stack.redis.hget(accountKeys(caller.accountId).record, 'held')

describe('while no worker runs', () => {
  test('a call that waited its time out is answered 408, has given its hold back by then, leaves the queue, and costs nothing', async () => {
    const startedAt = Date.now()
    const [answer, open] = await Promise.all([
      ask(caller, { model: 'test/one' }),
      stream(caller, { model: 'test/one' }),
    ])
    expect(await figures()).toBe('0')
    expect(answer).toMatchObject({ status: 408, errorCode: 'request_timeout' })
    expect(await open.end).toMatchObject({ status: 408, errorCode: 'request_timeout' })
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(QUEUE_WAIT_MS)
    await expectLedgerInOrder(stack)
    expect(await stack.redis.keys(`${queuePrefix(0)}:dispatch:chatcmpl_*`)).toEqual([])
    expect(stack.providers.log.received).toBe(0)
  })

  test('a client that hangs up takes its call off the queue', async () => {
    const leaving = new AbortController()
    const refused = expect(ask(caller, { model: 'test/one' }, leaving.signal)).rejects.toThrow()
    await expect.poll(() => waitingCalls(stack.redis)).toBe(1)
    expect(Number(await figures())).toBeGreaterThan(0)
    leaving.abort()
    await refused
    await expect.poll(() => waitingCalls(stack.redis), { interval: 5 }).toBe(0)
    await expectLedgerInOrder(stack)
    const record = await stack.postgres.callRecord.findFirstOrThrow({ orderBy: { id: 'desc' } })
    expect(record).toMatchObject({ status: 'cancelled', chargePico: 0n })
  })

  test('a client that hangs up at once leaves nothing behind', async () => {
    for (let index = 0; index < 8; index++) {
      const leaving = new AbortController()
      const refused = expect(ask(caller, { model: 'test/one' }, leaving.signal)).rejects.toThrow()
      setImmediate(() => leaving.abort())
      await refused
    }
    await expect.poll(() => waitingCalls(stack.redis)).toBe(0)
    await expectLedgerInOrder(stack)
  })

  test('calls wait for a worker that starts in time', async () => {
    const asking = Promise.all(Array.from({ length: 10 }, () => ask(caller, { model: 'test/one' })))
    await expect.poll(() => waitingCalls(stack.redis)).toBe(10)
    await stack.startDispatch()
    for (const answer of await asking) expect(answer.status).toBe(200)
    await untilIdle(stack)
    await expectLedgerInOrder(stack)
  })
})

import { expect, test } from 'vitest'
import { ask, stream } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder, waitingCalls } from '../helpers/ledger.ts'
import { startClocks } from '../helpers/redis-group.ts'
import { filled, testAccount, testStack } from '../helpers/resources.ts'
import { startTcpProxy } from '../helpers/tcp-proxy.ts'

const WORDS = 40
const SLOTS = 4
/**
 * Of each server, before the time of this machine. The second fail-over sets the time back by little, since a lock whose
 * holder lost the answer ends by the new server's clock, and the test waits for it.
 */
const AHEAD_SECONDS = [60, 45]

const group = filled(
  () => startClocks(AHEAD_SECONDS),
  ({ close }) => close(),
)
const urlOf = (index: number) => `redis://127.0.0.1:${group.members[index]!.port}`
/** The address that follows the primary. */
const address = filled(
  () => startTcpProxy(urlOf(0)),
  (proxy) => proxy.close(),
)
const stack = testStack(() => ({
  redisUrl: address.url,
  environment: { WORKER_CONCURRENCY: String(SLOTS) },
  models: { 'test/steady': [{ at: 'alpha', model: `words-${WORDS}.rate-80` }] },
}))
const caller = testAccount(stack, '5.00')

/** Has a replica take over once it has all that the primary knows. What is sent meanwhile is sent to it. */
async function failOver(from: number, to: number): Promise<void> {
  const replica = group.members[to]!
  address.hold()
  await group.members[from]!.client.call('FAILOVER', 'TO', '127.0.0.1', replica.port, 'TIMEOUT', 5_000)
  await eventually(async () => {
    if (!/role:master/.test(await replica.client.info('replication'))) throw new Error('not yet')
  })
  address.moveTo(urlOf(to))
  address.restore()
}

const FAIL_OVERS = AHEAD_SECONDS.map((seconds, from) => {
  const to = from + 1
  return { seconds, from, to, change: seconds - (AHEAD_SECONDS[from - 1] ?? 0) }
})

test.each(FAIL_OVERS)(
  'a fail-over that changes the clock by $change s refuses no call and loses none',
  async ({ seconds, from, to }) => {
    const [now] = await group.members[to]!.client.time()
    expect(Math.abs(Number(now) - Date.now() / 1_000 - seconds)).toBeLessThan(5)
    const streams = await Promise.all(
      Array.from({ length: SLOTS - 1 }, () => stream(caller, { model: 'test/steady' })),
    )
    await streams[0]!.said(5)
    // More than there are slots: some wait in the queue.
    const wholes = Array.from({ length: SLOTS }, () => ask(caller, { model: 'test/steady' }))
    await expect.poll(() => waitingCalls(stack.redis)).toBeGreaterThan(0)
    await failOver(from, to)
    const text = (await ask(caller, { model: 'test/steady' })).text
    expect(text?.split(' ')).toHaveLength(WORDS)
    for (const answer of await Promise.all(wholes)) expect(answer).toMatchObject({ status: 200, text })
    for (const { end } of streams) expect(await end).toMatchObject({ done: true, errorCode: null, text })
    await expectLedgerInOrder(stack)
    const records = await stack.postgres.callRecord.findMany({ where: { accountId: caller.accountId } })
    expect(records).toHaveLength(2 * SLOTS * to)
    for (const record of records)
      expect(record).toMatchObject({ status: 'completed', completionTokens: WORDS })
  },
)

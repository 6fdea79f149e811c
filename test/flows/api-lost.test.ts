import { beforeAll, describe, expect, test } from 'vitest'
import { createUnacknowledgedEndsSweep } from '../../src/calls/api/end-acknowledgements.ts'
import { callIdOfResponse } from '../../src/core/kernel/ids.ts'
import { createSettlementQueue, enqueueSettlements } from '../../src/platform/queues/queues.ts'
import { ask, type Caller, stream } from '../helpers/chat-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const ABORTED_WITHIN_MS = onBusyMachine(6_000)
const ON_THREE: number[] = [0, 1, 2]

let whole: string

const stack = testStack({
  processes: ['api'],
  apis: 3,
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-60' }],
    'test/slow': [{ at: 'alpha', model: 'words-400.rate-20' }],
    'test/hangs': [{ at: 'alpha', model: 'hang' }],
    'test/quick': [{ at: 'alpha', model: 'words-60.rate-60' }],
    'test/unread': [{ at: 'alpha', model: 'words-60.held' }],
    'test/held': [{ at: 'alpha', model: 'words-60.held' }],
  },
})
const owner = testAccount(stack, '5.00')
beforeAll(async () => {
  whole = (await ask(at(0), { model: 'test/plain' })).text!
})

const at = (index: number): Caller => ({ url: stack.urls[index]!, key: owner.key })

describe('an API key that is revoked', () => {
  test('is refused by every instance without waiting for the reload', async () => {
    const revoked = await stack.account('1.00')
    const callers = ON_THREE.map((index) => ({ url: stack.urls[index]!, key: revoked.key }))
    for (const caller of callers) expect((await ask(caller, { model: 'test/plain' })).status).toBe(200)
    const { code } = await stack.command('admin', 'key', 'revoke', revoked.keyId)
    const revokedAt = Date.now()
    expect(code).toBe(0)
    for (const caller of callers) {
      const status = async () => (await ask(caller, { model: 'test/plain' })).status
      await expect.poll(status, { interval: 20, timeout: onBusyMachine(1_000) }).toBe(403)
    }
    expect(Date.now() - revokedAt).toBeLessThan(onBusyMachine(1_000))
    expect(await ask(callers[0]!, { model: 'test/plain' })).toMatchObject({ errorCode: 'key_revoked' })
    await expectLedgerInOrder(stack)
  })
})

describe('an API instance that receives SIGTERM', () => {
  test('a stopping API instance takes no more calls, finishes its streams and exits with 0; the others continue', async () => {
    const [stopping, other] = await Promise.all([
      stream(at(0), { model: 'test/quick' }),
      stream(at(1), { model: 'test/quick' }),
    ])
    await Promise.all([stopping.said(20), other.said(20)])
    const stopped = stack.apis[0]!.stop()
    await expect.poll(() => ask(at(0), { model: 'test/plain' }).catch(() => 'refused')).toBe('refused')
    expect(await stopping.end).toMatchObject({ text: whole, done: true, errorCode: null })
    const finishedAt = Date.now()
    await stopped
    expect(await stack.apis[0]!.exited).toBe(0)
    expect(Date.now() - finishedAt).toBeLessThan(onBusyMachine(3_000))
    expect(await other.end).toMatchObject({ text: whole, done: true })
    expect((await ask(at(1), { model: 'test/plain' })).status).toBe(200)
    await expectLedgerInOrder(stack)
  })
})

describe('an API instance that is killed', () => {
  test('has its upstreams aborted and its calls settled: streams for what was delivered, whole answers and a response in background for nothing', async () => {
    stack.providers.reset()
    const mine = await Promise.all([
      stream(at(1), { model: 'test/slow' }),
      stream({ ...at(1), path: '/v2/chat/completions' }, { model: 'test/slow' }),
    ])
    const background = async (index: number, path: string, body?: object) => {
      const response = await fetch(`${stack.urls[index]}/v2/responses${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return (await response.json()) as { id: string; status: string }
    }
    const { id } = await background(1, '', { model: 'test/hangs', input: 'Hello', background: true })
    // Their answers come while the loss is noticed.
    const late = Array.from({ length: 20 }, () =>
      expect(ask(at(1), { model: 'test/held' })).rejects.toThrow(),
    )
    const other = await stream(at(2), { model: 'test/quick' })
    const atProvider = (part: string) =>
      stack.providers.log.requests.filter(({ model, state }) => model?.includes(part) && state === 'open')
    await Promise.all([...mine.map((one) => one.said(200)), other.said(20)])
    await expect.poll(() => [atProvider('hang').length, atProvider('held').length]).toEqual([1, late.length])
    await stack.apis[1]!.kill()
    const killedAt = Date.now()
    stack.providers.release()
    await Promise.all(late)
    // The streams and the response.
    await expect
      .poll(() => stack.providers.log.aborted, { timeout: ABORTED_WITHIN_MS })
      .toBeGreaterThanOrEqual(3)
    expect(Date.now() - killedAt).toBeLessThan(ABORTED_WITHIN_MS)
    expect(await other.end).toMatchObject({ text: whole, done: true })

    const callId = callIdOfResponse(id)
    await stack.postgres.storedResponse.update({ where: { callId }, data: { runningUntil: new Date(1) } })
    expect(await background(2, `/${id}`)).toMatchObject({ status: 'failed', output: [] })
    await untilIdle(stack)
    for (const { soFar } of mine) {
      expect(soFar).toMatchObject({ done: false, finishReason: null })
      const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: soFar.id! } })
      expect(record).toMatchObject({ status: 'interrupted', errorCode: 'internal_error' })
      expect(record.completionTokens).toBeGreaterThan(0)
      // Nothing is charged of what came after its client was cut off.
      expect(record.completionTokens).toBeLessThan(100)
    }
    const unanswered = await stack.postgres.callRecord.findMany({
      where: { requestedModel: { in: ['test/hangs', 'test/held'] } },
    })
    expect(unanswered).toHaveLength(1 + late.length)
    for (const record of unanswered) expect(record).toMatchObject({ status: 'failed', chargePico: 0n })
    expect(unanswered.find((record) => record.id === callId)).toMatchObject({ errorCode: 'internal_error' })
    await expectLedgerInOrder(stack)
  })

  test('costs nothing for answers that it had not read when it died', async () => {
    stack.providers.reset()
    await stack.restartApi(1)
    const { accountId, key: ownKey } = await stack.account('5.00')
    const caller = { url: stack.urls[1]!, key: ownKey }
    const calls = Array.from({ length: 20 }, () =>
      expect(ask(caller, { model: 'test/unread' })).rejects.toThrow(),
    )
    await stack.providers.log.arrived(() => stack.providers.log.requests.length === calls.length)
    // Redis counts it as a listener for as long as its connection stands.
    stack.apis[1]!.pause()
    stack.providers.release()
    await stack.settled(accountId)
    await stack.apis[1]!.kill()
    await Promise.all(calls)
    const balance = async () =>
      (await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })).balancePico
    const before = await balance()
    const queue = createSettlementQueue(stack.redis)
    let aheadMs = 0
    const [sweep, another] = [0, 1].map(() =>
      createUnacknowledgedEndsSweep({
        shard: 0,
        redis: stack.redis,
        postgres: stack.postgres,
        enqueueSettlements: (records) => enqueueSettlements(queue, records),
        clock: () => Date.now() + aheadMs,
      }),
    ) as [() => Promise<number>, () => Promise<number>]
    // An instance that lost its connections has a minute to come back, and one look is none.
    for (let look = 0; look < 2; look++) expect(await sweep()).toBe(0)
    aheadMs = 61_000
    expect(await another()).toBe(0)
    expect(await sweep()).toBe(calls.length)
    expect(await another()).toBe(0)
    await untilIdle(stack)
    await queue.close()
    expect(await balance()).toBeGreaterThan(before)
    expect(await balance()).toBe(5_000_000_000_000n)
    await expectLedgerInOrder(stack)
  })
})

import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import type { UnsettledCall } from '../../../src/calls/worker/finish-calls.ts'
import { SettlementOutbox } from '../../../src/calls/worker/settlement-outbox.ts'
import type { SettlementRecord } from '../../../src/core/calls/call-job.ts'
import { settlementOf } from '../../helpers/billing.ts'

const MAX = 10

describe('the outbox of settlements', () => {
  /** Jobs in the queue, by id. */
  let queue: Map<string, SettlementRecord[]>
  let durabilityToken: string
  let isRefused: boolean
  let outbox: SettlementOutbox

  beforeEach(() => {
    queue = new Map()
    durabilityToken = 'a'
    isRefused = false
    outbox = new SettlementOutbox({
      enqueue,
      jobsLeft: async (jobIds) => jobIds.map((jobId) => queue.has(jobId)),
      durabilityToken: async () => durabilityToken,
      logger: pino({ level: 'silent' }),
      max: MAX,
    })
  })

  const enqueue = async (records: SettlementRecord[]) => {
    if (isRefused) throw new Error('out of memory')
    const jobId = `settle_${queue.size}_${records[0]!.id}`
    queue.set(jobId, records)
    return jobId
  }
  /** Finishes calls, of which Redis takes as many as are told. */
  const finish = (calls: UnsettledCall[], taken = calls) => {
    const jobId = `finish_${calls[0]!.record.id}`
    return outbox.keep(jobId, calls, async () => {
      if (isRefused) throw new Error('out of memory')
      if (taken.length > 0)
        queue.set(
          jobId,
          taken.map(({ record }) => record),
        )
      return taken
    })
  }

  const finished = (): UnsettledCall => {
    const record = settlementOf('acct_1')
    const hold = {
      callId: record.id,
      accountId: 'acct_1',
      keyId: 'key_1',
      amountPico: 1n,
      completionLimit: 1,
      draws: '',
      deadlineAt: 0,
      isOpen: false,
    }
    return { record, hold }
  }

  test('lets a settlement go once its job has left the queue, and not before', async () => {
    await finish([finished(), finished()])
    await outbox.confirm()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(2)
    queue.clear()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(0)
  })

  test('takes an empty queue for a settled one only under one durability token', async () => {
    await finish([finished()])
    await outbox.confirm()
    // Redis lost its data: the job is gone, and not settled.
    queue.clear()
    durabilityToken = 'b'
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(1)
    expect(await outbox.resync()).toBe(1)
    expect(queue.size).toBe(1)
    await outbox.confirm()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(1)
  })

  test('keeps calls whose finishing is not answered yet, and then those that were finished', async () => {
    const [one, other] = [finished(), finished()]
    const { promise: answer, resolve } = Promise.withResolvers<UnsettledCall[]>()
    const sending = outbox.keep('finish_1', [one, other], () => answer)
    await outbox.confirm()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(2)
    queue.set('finish_1', [one.record])
    resolve([one])
    await sending
    expect([...outbox.holds()]).toEqual([one.hold])
    expect(outbox.unconfirmed).toBe(1)
    queue.clear()
    await outbox.confirm()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(0)
  })

  test('keeps nothing of a step that finished no call', async () => {
    await finish([finished()], [])
    expect(outbox.unconfirmed).toBe(0)
  })

  test('keeps nothing of a settlement that could not be enqueued, nor its hold', async () => {
    isRefused = true
    for (let time = 0; time < 3; time++)
      await expect(finish([finished(), finished()])).rejects.toThrow('out of memory')
    expect(outbox.unconfirmed).toBe(0)
    expect([...outbox.holds()]).toEqual([])
    isRefused = false
    expect(await outbox.resync()).toBe(0)
    expect(queue.size).toBe(0)
  })

  test('enqueues a lost settlement until Redis takes it, and never takes it for settled meanwhile', async () => {
    await finish([finished()])
    await outbox.confirm()
    queue.clear()
    durabilityToken = 'b'
    isRefused = true
    await expect(outbox.resync()).rejects.toThrow('out of memory')
    for (let look = 0; look < 3; look++) await expect(outbox.confirm()).rejects.toThrow('out of memory')
    expect(outbox.unconfirmed).toBe(1)
    isRefused = false
    await outbox.confirm()
    expect(queue.size).toBe(1)
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(1)
    queue.clear()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(0)
  })

  test('keeps a settlement that Redis refused, and enqueues it as soon as it can', async () => {
    isRefused = true
    const call = finished()
    outbox.keepUnsent(call)
    await expect(outbox.confirm()).rejects.toThrow('out of memory')
    expect([...outbox.holds()]).toEqual([call.hold])
    isRefused = false
    await outbox.confirm()
    expect([...queue.values()]).toEqual([[call.record]])
    expect(outbox.unconfirmed).toBe(1)
    queue.clear()
    await outbox.confirm()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(0)
  })

  test('keeps no more than its bound, the youngest', async () => {
    const calls = Array.from({ length: MAX + 3 }, finished)
    for (const call of calls) await finish([call])
    expect(outbox.unconfirmed).toBe(MAX)
    expect([...outbox.holds()].map((hold) => hold.callId)).toEqual(
      calls.slice(3).map(({ record }) => record.id),
    )
  })
})

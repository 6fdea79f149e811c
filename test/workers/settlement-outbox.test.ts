import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import type { SettlementRecord } from '../../src/core/call-job.ts'
import { type FinishedCall, SettlementOutbox } from '../../workers/settlement-outbox.ts'
import { settlementOf } from '../helpers/billing.ts'

const MAX = 10

describe('the outbox of settlements', () => {
  /** Jobs in the queue, by id. */
  let queue: Map<string, SettlementRecord[]>
  let stretch: string
  let outbox: SettlementOutbox

  beforeEach(() => {
    queue = new Map()
    stretch = 'a'
    outbox = new SettlementOutbox({
      enqueue: async (records) => {
        const jobId = `settle_${queue.size}_${records[0]!.id}`
        queue.set(jobId, records)
        return jobId
      },
      jobsLeft: async (jobIds) => jobIds.map((jobId) => queue.has(jobId)),
      stretch: async () => stretch,
      logger: pino({ level: 'silent' }),
      max: MAX,
    })
  })

  const finished = (): FinishedCall => {
    const record = settlementOf('acct_1')
    const hold = {
      callId: record.id,
      accountId: 'acct_1',
      keyId: 'key_1',
      amountPico: 1n,
      completionLimit: 1,
      allowancePeriod: null,
      deadlineAt: 0,
      isOpen: false,
    }
    return { record, hold }
  }

  it('lets a settlement go once its job has left the queue, and not before', async () => {
    await outbox.enqueue([finished(), finished()])
    await outbox.confirm()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(2)
    queue.clear()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(0)
  })

  it('takes an empty queue for a settled one only within one stretch', async () => {
    await outbox.enqueue([finished()])
    await outbox.confirm()
    // Redis lost its data: the job is gone, and not settled.
    queue.clear()
    stretch = 'b'
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(1)
    expect(await outbox.restate()).toBe(1)
    expect(queue.size).toBe(1)
    await outbox.confirm()
    await outbox.confirm()
    expect(outbox.unconfirmed).toBe(1)
  })

  it('keeps a settlement whose enqueuing is not answered yet', async () => {
    const { promise: enqueued, resolve: answer } = Promise.withResolvers<void>()
    const waiting = new SettlementOutbox({
      enqueue: async () => {
        await enqueued
        return 'settle_1'
      },
      jobsLeft: async (jobIds) => jobIds.map(() => false),
      stretch: async () => 'a',
      logger: pino({ level: 'silent' }),
      max: MAX,
    })
    const sending = waiting.enqueue([finished()])
    await waiting.confirm()
    await waiting.confirm()
    expect(waiting.unconfirmed).toBe(1)
    answer()
    await sending
    await waiting.confirm()
    await waiting.confirm()
    expect(waiting.unconfirmed).toBe(0)
  })

  it('keeps no more than its bound, the youngest', async () => {
    const calls = Array.from({ length: MAX + 3 }, finished)
    for (const call of calls) await outbox.enqueue([call])
    expect(outbox.unconfirmed).toBe(MAX)
    expect([...outbox.holds()].map((hold) => hold.callId)).toEqual(
      calls.slice(3).map(({ record }) => record.id),
    )
  })
})

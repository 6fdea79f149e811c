import type { FinishedCall } from './settlement-outbox.ts'

/** Hands finished calls to the settlement queue; resolves once Redis has the record. */
export type SettlementOutlet = (call: FinishedCall) => Promise<void>

/** Keeps a settlement job small enough to be one batch's worth of work. */
const RECORDS_PER_JOB = 64

interface Waiting {
  call: FinishedCall
  resolve: () => void
  reject: (error: unknown) => void
}

/**
 * Enqueues what has finished since the last job was on its way: a lone call goes at once, and under load one
 * job carries many calls, which saves three scripts for every call but the first.
 */
export function createSettlementOutlet(enqueue: (calls: FinishedCall[]) => Promise<void>): SettlementOutlet {
  let waiting: Waiting[] = []
  let sending = false

  async function send(): Promise<void> {
    sending = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, RECORDS_PER_JOB)
      waiting = waiting.slice(RECORDS_PER_JOB)
      try {
        await enqueue(batch.map(({ call }) => call))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    sending = false
  }

  return (call) =>
    new Promise((resolve, reject) => {
      waiting.push({ call, resolve, reject })
      if (!sending) void send()
    })
}

import { defineHoldScript } from '../../billing/holds/hold-scripts.ts'
import { type Frame, openingFrame, sizeOf } from '../../core/calls/frames.ts'
import { newId } from '../../core/kernel/ids.ts'
import { DISPATCH_QUEUE, SETTLEMENT_QUEUE, settlementJobOptions } from '../../platform/queues/queues.ts'
import { isRefusedWrite, type Redis } from '../../platform/redis/redis.ts'
import { accountKeys, apiKeyKeys, QUEUE_PREFIX } from '../../platform/redis/redis-keys.ts'
import { MESSAGE_CHARS } from '../relay/frame-publisher.ts'
import type { FinishedCall, SettlementOutbox } from './settlement-outbox.ts'

/** Which claim of its job a worker has: the number of claims of this job, from 1; or what stands for a lost job. */
export type ClaimOfJob =
  | number
  /** Redis lost the job, and a revived one stands for it (see reviveCall). */
  | 'revived'
  /** Whatever job there is: Redis has none, and nobody else can have the call. */
  | 'any'

/** A call that ended at this worker: what to settle, and the last frame its client gets. */
export interface EndedCall extends FinishedCall {
  claim: ClaimOfJob
  channel: string
  last: Frame
  /** Nothing is done if nobody listens on the channel: an answer that nobody hears is not charged as it stands. */
  mustBeHeard: boolean
}

/**
 * `unheard`: nobody listens, and nothing was done. `lost`: another worker has the call. `gone`: its job is not there,
 * since this worker or another finished the call, or Redis lost it. `refused`: Redis takes no writes. Nothing was done
 * in these cases either.
 */
export type FinishResult = 'finished' | 'unheard' | 'lost' | 'gone' | 'refused'

/**
 * Finishes some calls in one atomic step: last frames, balance cache, settlement job, dispatch jobs. Repeated after the
 * first run was done, it answers `gone` and does nothing.
 */
export type RunFinish = (settlementJobId: string, calls: readonly EndedCall[]) => Promise<FinishResult[]>

/** The step of one worker over a connection: what was published over it before arrives before the last frames. */
export function createFinishScript(redis: Redis, worker: string, clock: () => number): RunFinish {
  const finish = defineHoldScript(redis, 'syFinishCalls', new URL('./finish-calls.lua', import.meta.url))
  const opening = JSON.stringify(openingFrame(worker))
  const queues = [DISPATCH_QUEUE, SETTLEMENT_QUEUE].map((queue) => `${QUEUE_PREFIX}:${queue}`)
  return async (settlementJobId, calls) => {
    const options = JSON.stringify(settlementJobOptions(settlementJobId))
    return (await finish(
      [...queues, ...calls.flatMap(keysOf)],
      [settlementJobId, options, clock(), opening, ...calls.flatMap(argumentsOf)],
    )) as FinishResult[]
  }
}

function keysOf({ record: { accountId, keyId } }: EndedCall): string[] {
  const account = accountKeys(accountId)
  return [account.avail, account.held, account.holds, apiKeyKeys(accountId, keyId, '').open, account.open]
}

function argumentsOf({ record, claim, channel, last, mustBeHeard }: EndedCall): Array<string | number> {
  const { apiKeys } = accountKeys(record.accountId)
  return [
    record.id,
    channel,
    JSON.stringify(last),
    JSON.stringify(record),
    record.chargePico,
    apiKeys,
    claim,
    mustBeHeard ? '1' : '0',
  ]
}

export type FinishCall = (call: EndedCall) => Promise<FinishResult>

/** Keeps a settlement job small enough to be one batch's worth of work. */
const CALLS_AT_ONCE = 64

interface Waiting {
  call: EndedCall
  resolve: (result: FinishResult) => void
  reject: (error: unknown) => void
}

export interface FinisherDependencies {
  run: RunFinish
  /** Sends what calls have sent before: it goes first. */
  flush: () => void
  outbox: Pick<SettlementOutbox, 'keep'>
}

/**
 * Finishes what has ended since the last step was on its way: a lone call goes at once, and under load one script,
 * one message a channel and one settlement job carry many calls. When it rejects it is not known whether the call was
 * finished; if not, whoever claims it next finishes it.
 */
export function createFinisher({ run, flush, outbox }: FinisherDependencies): FinishCall {
  const waiting: Waiting[] = []
  let isRunning = false

  async function finish(batch: Waiting[]): Promise<void> {
    const jobId = newId('settle')
    const calls = batch.map(({ call }) => call)
    flush()
    let results: FinishResult[] = []
    await outbox.keep(jobId, calls, async () => {
      results = await run(jobId, calls).catch((error) => {
        if (!isRefusedWrite(error)) throw error
        return calls.map(() => 'refused' as const)
      })
      return calls.filter((_, index) => results[index] === 'finished')
    })
    for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
  }

  async function finishWaiting(): Promise<void> {
    isRunning = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchSize(waiting))
      await finish(batch).catch((error) => {
        for (const { reject } of batch) reject(error)
      })
    }
    isRunning = false
  }

  return (call) =>
    new Promise((resolve, reject) => {
      waiting.push({ call, resolve, reject })
      if (!isRunning) void finishWaiting()
    })
}

/** How many of those that wait go together: one at least. */
function batchSize(waiting: readonly Waiting[]): number {
  let chars = 0
  const most = Math.min(waiting.length, CALLS_AT_ONCE)
  for (let size = 0; size < most; size++) {
    chars += sizeOf(waiting[size]!.call.last[3])
    if (chars > MESSAGE_CHARS && size > 0) return size
  }
  return most
}

import type { RestoredHold } from '../../billing/holds/hold-store.ts'
import type { SettlementRecord } from '../../core/calls/call-job.ts'
import {
  type Frame,
  type GatewayFailure,
  MESSAGE_CHARS,
  openingFrame,
  sizeOf,
} from '../../core/calls/frames.ts'
import { newId } from '../../core/kernel/ids.ts'
import { DISPATCH_QUEUE } from '../../platform/queues/queues.ts'
import { readScript } from '../../platform/redis/read-script.ts'
import { defineScript, isRefusedWrite, type Redis } from '../../platform/redis/redis.ts'
import { accountKeys, queuePrefix } from '../../platform/redis/redis-keys.ts'
import { forRelayChannels } from '../../platform/redis/relay-channel.ts'
import type { FramePublisher } from './frame-publisher.ts'

/** What one call asks of the step that ends it. */
export interface FinishStep {
  /** What to settle. */
  record: SettlementRecord
  /** The hold as it closes. */
  hold: RestoredHold
  /**
   * Which claim of its job the worker has: the number of claims of this job, from 1. `revived`: Redis lost the job, and a
   * revived one replaces it (see requeueCall). `any`: Redis has no job, and no other worker can have the call.
   */
  claim: number | 'revived' | 'any'
  /** The channel of the last frame; '' for none. */
  channel: string
  last: Frame
  /**
   * Nothing is done if no API instance listens on the channel, or the client was sent an error: a completion
   * that is not received is not charged as it stands.
   */
  needsSubscriber: boolean
  /** Completion tokens that the client is known to have taken: so much is charged of an end that is not acknowledged. */
  takenTokens: number
  /** The conversation that is on another candidate now, and which; absent: none. */
  moved?: { conversation: number; target: string } | undefined
}

/** What of a finished call is kept until PostgreSQL has it. */
export type UnsettledCall = Pick<FinishStep, 'record' | 'hold'>

/**
 * For every result except `finished`, nothing was done. `no-subscriber`: the channel has no subscriber. `lost`: another
 * worker has the call. `gone`: its job does not exist, since this worker or another finished the call, or Redis lost
 * it. `refused`: Redis accepts no writes. A failure: the error that its client received.
 */
export type FinishResult = 'finished' | 'no-subscriber' | 'lost' | 'gone' | 'refused' | GatewayFailure

/**
 * Finishes some calls in one atomic step: last frames, balance cache, settlement job, dispatch jobs. A worker has one
 * step in flight. If the last step is repeated, as by a broken connection, it returns the same result and does nothing.
 */
export type RunFinish = (
  settlementJobId: string,
  calls: ReadonlyArray<FinishStep & { isPublished: boolean }>,
) => Promise<FinishResult[]>

const FINISH = readScript(import.meta.url, '../../billing/holds/holds.lua', './finish-calls.lua')

/** The step of one worker over a connection: earlier messages on it arrive before the last frames. */
export function createFinishScript(redis: Redis, worker: string, clock: () => number, shard = 0): RunFinish {
  const finish = defineScript(redis, 'syFinishCalls', forRelayChannels(redis, FINISH))
  const opening = JSON.stringify(openingFrame(worker))
  const dispatch = `${queuePrefix(shard)}:${DISPATCH_QUEUE}`
  return async (settlementJobId, calls) => {
    const results = (await finish(
      [dispatch, ...calls.map(({ record }) => accountKeys(record.accountId, redis).record)],
      [settlementJobId, clock(), opening, ...calls.flatMap(argumentsOf)],
    )) as string[]
    return results.map(readResult)
  }
}

const readResult = (result: string): FinishResult =>
  result.startsWith('{') ? (JSON.parse(result) as GatewayFailure) : (result as FinishResult)

function argumentsOf(call: FinishStep & { isPublished: boolean }): Array<string | number> {
  const { record, claim, channel, last, isPublished, needsSubscriber, takenTokens, moved } = call
  return [
    record.id,
    channel,
    channel && isPublished ? JSON.stringify(last) : '',
    JSON.stringify(record),
    record.chargePico,
    record.keyId,
    claim,
    needsSubscriber ? takenTokens : '',
    moved ? `${moved.conversation} ${moved.target}` : '',
  ]
}

export type FinishCall = (call: FinishStep) => Promise<FinishResult>

/** Limits a settlement job to the work of one batch. */
const CALLS_AT_ONCE = 64

interface Waiting {
  call: FinishStep
  resolve: (result: FinishResult) => void
  reject: (error: unknown) => void
}

interface FinisherDependencies {
  run: RunFinish
  publisher: Pick<FramePublisher, 'isColocated' | 'send' | 'flush'>
  /** Keeps calls that `send` finishes, until PostgreSQL has them (see SettlementOutbox). */
  outbox: {
    keep<Call extends UnsettledCall>(
      jobId: string,
      calls: readonly Call[],
      send: () => Promise<readonly Call[]>,
    ): Promise<void>
  }
}

/**
 * Finishes the calls that ended since the last step was sent: a single call is finished at once, and under load one
 * script, one message per channel and one settlement job carry many calls. If it rejects, it is unknown whether the
 * call was finished; if not, the next worker that claims it finishes it.
 */
export function createFinisher({ run, publisher, outbox }: FinisherDependencies): FinishCall {
  const waiting: Waiting[] = []
  let isRunning = false

  async function finish(batch: Waiting[]): Promise<void> {
    const jobId = newId('settle')
    const calls = batch.map(({ call }) => call)
    // Redis does not notify an API instance in this process, which receives the end once it is done.
    const isPublished = calls.map(({ channel }) => !publisher.isColocated(channel))
    const asked = calls.map((call, index) => ({ ...call, isPublished: isPublished[index]! }))
    // Earlier frames of calls are sent first.
    publisher.flush()
    let results: FinishResult[] = []
    await outbox.keep(jobId, calls, async () => {
      results = await run(jobId, asked).catch((error) => {
        if (!isRefusedWrite(error)) throw error
        return calls.map(() => 'refused' as const)
      })
      return calls.filter((_, index) => results[index] === 'finished')
    })
    for (const [index, { channel, last }] of calls.entries())
      if (!isPublished[index] && results[index] === 'finished') publisher.send(channel, ...last)
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

/** How many waiting calls are finished together: at least one. */
function batchSize(waiting: readonly Waiting[]): number {
  let chars = 0
  const most = Math.min(waiting.length, CALLS_AT_ONCE)
  for (let size = 0; size < most; size++) {
    chars += sizeOf(waiting[size]!.call.last[3])
    if (chars > MESSAGE_CHARS && size > 0) return size
  }
  return most
}

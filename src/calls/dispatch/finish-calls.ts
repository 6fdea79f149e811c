import { defineHoldScript } from '../../billing/holds/admission.ts'
import { HOLD_SLACK_MS, type RestoredHold } from '../../billing/holds/hold-store.ts'
import type { CallEnvelope, SettlementRecord } from '../../core/calls/call-job.ts'
import {
  type Frame,
  type GatewayFailure,
  MESSAGE_CHARS,
  openingFrame,
  sizeOf,
} from '../../core/calls/frames.ts'
import { newId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { DISPATCH_QUEUE, SETTLEMENT_QUEUE, storedJobOptions } from '../../platform/queues/queues.ts'
import { isRefusedWrite, type Redis } from '../../platform/redis/redis.ts'
import {
  accountKeys,
  apiKeyKeys,
  ENDING_CHANNELS,
  lastFinishKey,
  QUEUE_PREFIX,
} from '../../platform/redis/redis-keys.ts'
import type { FramePublisher } from '../relay/call-outbox.ts'

/** A finished call: what to settle, and the hold that closes. */
export interface FinishedCall {
  record: SettlementRecord
  hold: RestoredHold
}

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
  /** Where the last frame is published; '' for nowhere. */
  channel: string
  last: Frame
  /**
   * Nothing is done if nobody listens on the channel, or the caller was told that the call failed: an answer that nobody
   * hears is not charged as it stands.
   */
  mustBeHeard: boolean
  /** Completion tokens that the client is known to have taken: so much is charged of an end that nobody acknowledges. */
  takenTokens: number
}

/**
 * Unless it is `finished` nothing was done. `unheard`: nobody listens. `lost`: another worker has the call. `gone`: its
 * job is not there, since this worker or another finished the call, or Redis lost it. `refused`: Redis takes no writes.
 * A failure: what its caller was told.
 */
export type FinishResult = 'finished' | 'unheard' | 'lost' | 'gone' | 'refused' | GatewayFailure

/**
 * Finishes some calls in one atomic step: last frames, balance cache, settlement job, dispatch jobs. A worker has one step
 * under way at a time. Repeated after the first run was done, as by a connection that broke, the last step answers as it did
 * then and does nothing.
 */
export type RunFinish = (settlementJobId: string, calls: readonly AskedFinish[]) => Promise<FinishResult[]>

/** Its last frame is not published where its API instance shares this process, and hears the end from here. */
export type AskedFinish = EndedCall & { isPublished: boolean }

/**
 * The step of one worker, whose locks hold `token`, over a connection: what was published over it before arrives before
 * the last frames.
 */
export function createFinishScript(
  redis: Redis,
  worker: string,
  token: string,
  clock: () => number,
): RunFinish {
  const finish = defineHoldScript(redis, 'syFinishCalls', new URL('./finish-calls.lua', import.meta.url))
  const opening = JSON.stringify(openingFrame(worker))
  const queues = [DISPATCH_QUEUE, SETTLEMENT_QUEUE].map((queue) => `${QUEUE_PREFIX}:${queue}`)
  const ownKeys = [...queues, lastFinishKey(worker), ENDING_CHANNELS]
  return async (settlementJobId, calls) => {
    const options = JSON.stringify(storedJobOptions(settlementJobId))
    const results = (await finish(
      [...ownKeys, ...calls.flatMap(keysOf)],
      [settlementJobId, options, clock(), opening, token, ...calls.flatMap(argumentsOf)],
    )) as string[]
    return results.map(readResult)
  }
}

const readResult = (result: string): FinishResult =>
  result.startsWith('{') ? (JSON.parse(result) as GatewayFailure) : (result as FinishResult)

function keysOf({ record: { accountId, keyId } }: AskedFinish): string[] {
  const account = accountKeys(accountId)
  return [account.avail, account.held, account.holds, apiKeyKeys(accountId, keyId).open, account.open]
}

function argumentsOf(call: AskedFinish): Array<string | number> {
  const { record, claim, channel, last, isPublished, mustBeHeard, takenTokens } = call
  const { prefix } = accountKeys(record.accountId)
  return [
    record.id,
    channel,
    channel && isPublished ? JSON.stringify(last) : '',
    JSON.stringify(record),
    record.chargePico,
    prefix,
    claim,
    mustBeHeard ? takenTokens : '',
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

interface FinisherDependencies {
  run: RunFinish
  publisher: Pick<FramePublisher, 'isColocated' | 'send' | 'flush'>
  outbox: Pick<SettlementOutbox, 'keep'>
}

/**
 * Finishes what has ended since the last step was on its way: a lone call goes at once, and under load one script,
 * one message a channel and one settlement job carry many calls. When it rejects it is not known whether the call was
 * finished; if not, whoever claims it next finishes it.
 */
export function createFinisher({ run, publisher, outbox }: FinisherDependencies): FinishCall {
  const waiting: Waiting[] = []
  let isRunning = false

  async function finish(batch: Waiting[]): Promise<void> {
    const jobId = newId('settle')
    const calls = batch.map(({ call }) => call)
    // Redis tells no API instance that shares this process: that is there, and hears the end once it is done.
    const isTold = calls.map(({ channel }) => !publisher.isColocated(channel))
    const asked = calls.map((call, index) => ({ ...call, isPublished: isTold[index]! }))
    // What calls have sent before goes first.
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
      if (!isTold[index] && results[index] === 'finished') publisher.send(channel, ...last)
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

interface SettlementOutboxDependencies {
  /** Enqueues one settlement job of some calls and returns its id. */
  enqueue: (records: SettlementRecord[]) => Promise<string>
  /** Which of some settlement jobs are still in the queue. */
  jobsLeft: (jobIds: string[]) => Promise<boolean[]>
  /** The durability token: while it stays equal, nothing that was written can have been lost. Asks Redis. */
  durabilityToken: () => Promise<string>
  logger: Logger
  /** Called with calls that PostgreSQL has. */
  onSettled?: (calls: readonly FinishedCall[]) => void
  /** Calls kept at the most. Beyond it the oldest are let go unconfirmed. */
  max: number
}

/** One settlement job that may still be lost with Redis. */
interface UnconfirmedJob {
  /** Null until it is enqueued. */
  jobId: string | null
  calls: readonly FinishedCall[]
  /** The durability token when it was first looked at after it was enqueued; null before. */
  durabilityToken: string | null
  /** Redis may have lost it, and it is not enqueued again yet. */
  mustResend: boolean
}

/** Jobs looked for by one command, so that a long backlog does not make it a long one. */
const LOOK_MAX = 1_000
const RESTATED_AT_ONCE = 50

/**
 * The settlements one worker enqueued, kept until PostgreSQL is known to have them: a settlement job leaves
 * the queue only once it is committed. Should Redis lose its data before that, they are enqueued again. To
 * settle twice charges once, so every doubt ends in enqueuing.
 */
export class SettlementOutbox {
  private readonly deps: SettlementOutboxDependencies
  private jobs = new Set<UnconfirmedJob>()
  private size = 0
  private overflowed = false

  constructor(deps: SettlementOutboxDependencies) {
    this.deps = deps
  }

  /** Calls whose settlement is not confirmed. */
  get unconfirmed(): number {
    return this.size
  }

  /**
   * Keeps calls that `send` finishes under one settlement job; it answers which of them it did. Once this resolves,
   * only the loss of both Redis and this worker can lose those. When it rejects nothing is kept: the calls have not
   * ended, and whoever claims them next settles them.
   */
  async keep(
    jobId: string,
    calls: readonly FinishedCall[],
    send: () => Promise<readonly FinishedCall[]>,
  ): Promise<void> {
    const job: UnconfirmedJob = { jobId: null, calls, durabilityToken: null, mustResend: false }
    this.jobs.add(job)
    this.size += calls.length
    if (this.size > this.deps.max) this.letOldestGo()
    try {
      const finished = await send()
      if (finished.length === 0) return this.drop(job)
      if (this.jobs.has(job)) this.size -= calls.length - finished.length
      Object.assign(job, { jobId, calls: finished })
    } catch (error) {
      this.drop(job)
      throw error
    }
  }

  /** Keeps a call that Redis takes no settlement of; `confirm` enqueues it as soon as Redis does. */
  keepUnsent(call: FinishedCall): void {
    this.jobs.add({ jobId: null, calls: [call], durabilityToken: null, mustResend: true })
    this.size += 1
    if (this.size > this.deps.max) this.letOldestGo()
  }

  /**
   * Looks which settlements have left the queue. One counts only when the token has not changed since a
   * look before: a queue that was emptied looks like one that is done. To be called about once a second,
   * never twice at once and not while `resync` runs.
   */
  async confirm(): Promise<void> {
    if (this.jobs.size === 0) return
    const { jobsLeft, durabilityToken } = this.deps
    await this.resend()
    const current = await durabilityToken()
    const seen: UnconfirmedJob[] = []
    for (const job of this.jobs) {
      if (job.jobId === null) continue
      if (job.durabilityToken === current) seen.push(job)
      else job.durabilityToken = current
    }
    for (let start = 0; start < seen.length; start += LOOK_MAX) {
      const some = seen.slice(start, start + LOOK_MAX)
      const left = await jobsLeft(some.map((job) => job.jobId as string))
      if ((await durabilityToken()) !== current) return
      for (const [index, job] of some.entries()) {
        if (left[index]) continue
        this.drop(job)
        this.deps.onSettled?.(job.calls)
      }
      // Settlements are settled about in their order: behind some that wait, nearly all do.
      if (left.every(Boolean)) return
    }
  }

  /** The holds of calls that wait for their settlement. */
  *holds(): Iterable<RestoredHold> {
    for (const { calls } of this.jobs) for (const { hold } of calls) yield hold
  }

  /**
   * Enqueues everything again that is not confirmed; returns how many calls. Their holds must stand by now. What
   * cannot be enqueued is tried again by the next `confirm`.
   */
  async resync(): Promise<number> {
    for (const job of this.jobs) if (job.jobId !== null) job.mustResend = true
    return this.resend()
  }

  private async resend(): Promise<number> {
    const jobs = [...this.jobs].filter((job) => job.mustResend)
    for (let start = 0; start < jobs.length; start += RESTATED_AT_ONCE) {
      const some = jobs.slice(start, start + RESTATED_AT_ONCE)
      await Promise.all(
        some.map(async (job) => {
          job.jobId = await this.deps.enqueue(recordsOf(job))
          Object.assign(job, { durabilityToken: null, mustResend: false })
        }),
      )
    }
    return jobs.reduce((sum, job) => sum + job.calls.length, 0)
  }

  private drop(job: UnconfirmedJob): void {
    if (this.jobs.delete(job)) this.size -= job.calls.length
  }

  private letOldestGo(): void {
    const [oldest] = this.jobs
    if (oldest) this.drop(oldest)
    if (this.overflowed) return
    this.overflowed = true
    const { logger, max } = this.deps
    logger.error({ max }, 'more settlements wait than are kept against a loss of redis')
  }
}

const recordsOf = ({ calls }: UnconfirmedJob): SettlementRecord[] => calls.map(({ record }) => record)

/** The hold of a call that runs: all that admission held, and a slot of its key. */
export const runningHold = (envelope: CallEnvelope): RestoredHold =>
  restoredHold(envelope, BigInt(envelope.holdPico), true)

/** The hold of a call that waits for its settlement: what it is charged. */
export const endedHold = (envelope: CallEnvelope, chargePico: bigint): RestoredHold =>
  restoredHold(envelope, chargePico, false)

function restoredHold(envelope: CallEnvelope, amountPico: bigint, isOpen: boolean): RestoredHold {
  return {
    callId: envelope.id,
    accountId: envelope.accountId,
    keyId: envelope.keyId,
    amountPico,
    completionLimit: Math.max(0, ...envelope.candidates.map((candidate) => candidate.completionLimit)),
    draws: envelope.draws ?? '',
    deadlineAt: envelope.callDeadlineAt + HOLD_SLACK_MS,
    isOpen,
  }
}

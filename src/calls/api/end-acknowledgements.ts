import { unservedSettlement } from '../../core/billing/settlement.ts'
import type { SettlementRecord } from '../../core/calls/call-job.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { endingChannels, unacknowledgedEndsKey } from '../../platform/redis/redis-keys.ts'
import { countSubscribers } from '../../platform/redis/relay-channel.ts'

/**
 * Ends that were published to an API instance, until it acknowledges them, and the worker that can send them again. Redis counts a killed instance as a
 * subscriber as long as its connection is open, so a published end may not have been read. The script that finishes
 * calls records each (finish-calls.lua), and an instance acknowledges what it wrote to clients about once a second,
 * many calls in one command, and again what a Redis may have lost. Charged ends that an instance has not acknowledged when it is gone are
 * credited.
 */

const ACKNOWLEDGE_EVERY_MS = 1_000
/** Ends of half a minute at 1,500 calls a second. Beyond it the oldest are not acknowledged, which credits them. */
const WAITING_MAX = 50_000
const AT_ONCE = 1_000

interface AcknowledgementsOptions {
  redis: Pick<Redis, 'hdel' | 'hget'>
  channel: string
  /** Absent: a second. */
  everyMs?: number | undefined
  logger: Logger
}

/** The ends that one API instance delivered and has not acknowledged yet. */
export class EndAcknowledgements {
  private readonly options: AcknowledgementsOptions
  private readonly key: string
  /** Delivered in this tick: they may not be written to their clients yet. */
  private fresh: string[] = []
  private written: string[] = []
  private sendAtMs = 0
  private isSending = false

  constructor(options: AcknowledgementsOptions) {
    this.options = options
    this.key = unacknowledgedEndsKey(options.channel)
  }

  get isEmpty(): boolean {
    return this.fresh.length === 0 && this.written.length === 0 && !this.isSending
  }

  /** Records that the end of a call was delivered. */
  add(callId: string): void {
    this.fresh.push(callId)
  }

  /** The worker that published the end of a call, which is not acknowledged yet; null: none did. */
  async workerOf(callId: string): Promise<string | null> {
    const note = await this.options.redis.hget(this.key, callId)
    return note === null ? null : readEnd([callId, note]).worker
  }

  /** Call it some times a second. */
  tick(nowMs: number): void {
    const { everyMs = ACKNOWLEDGE_EVERY_MS } = this.options
    // Never further ahead, unless the clock was set back.
    const isDue = nowMs >= this.sendAtMs || this.sendAtMs - nowMs > everyMs
    if (this.written.length > 0 && isDue) {
      this.sendAtMs = nowMs + everyMs
      void this.send()
    }
    this.written.push(...this.fresh)
    this.fresh = []
  }

  /** Acknowledges everything. Never rejects: failed acknowledgements are retried the next time. */
  async send(): Promise<void> {
    const ids = this.written.splice(0)
    this.isSending = true
    for (let start = 0; start < ids.length; start += AT_ONCE) {
      try {
        await this.options.redis.hdel(this.key, ...ids.slice(start, start + AT_ONCE))
      } catch (error) {
        const kept = [...ids.slice(start), ...this.written].slice(-WAITING_MAX)
        this.written = kept
        this.options.logger.warn(
          { err: error, calls: kept.length },
          'acknowledgement of delivered ends failed',
        )
        break
      }
    }
    this.isSending = false
  }

  /** Acknowledges everything, including what was delivered a moment ago. */
  async close(): Promise<void> {
    this.written.push(...this.fresh.splice(0))
    await this.send()
  }
}

/** A living instance has acknowledged an end after this time, even if its connections were interrupted. */
const UNACKNOWLEDGED_AFTER_MS = 60_000
/** After this time a settlement is made or lost. */
const KEPT_MS = 86_400_000

interface SweepDependencies {
  shard: number
  /** The client of the shard. */
  redis: Pick<Redis, 'smembers' | 'srem' | 'pubsub' | 'isInCluster' | 'hgetall' | 'hdel'>
  postgres: Postgres
  /** In the queue of the shard. */
  enqueueSettlements: (records: SettlementRecord[]) => Promise<unknown>
  clock: () => number
}

/** A recorded end. */
interface UnacknowledgedEnd {
  callId: CallId
  /** Completion tokens that its client certainly received before; null: nothing is credited. */
  takenTokens: number | null
  notedAtMs: number
  /** The worker that published it. */
  worker: string
}

/**
 * Finds ends of a shard's calls that were published to instances that are gone, and enqueues records that their clients did not get them,
 * from which settlement credits the charge down to what they certainly received. Returns their number. Repeatable. An instance
 * is gone if its channel had no subscriber at the run before either: after a Redis that was away, a run may look before the
 * instance has subscribed again.
 */
export function createUnacknowledgedEndsSweep(deps: SweepDependencies): () => Promise<number> {
  let unheard: ReadonlySet<string> = new Set()
  return async () => {
    const [before, now] = [unheard, new Set<string>()]
    unheard = now
    return sweep(deps, (channel) => {
      now.add(channel)
      return before.has(channel)
    })
  }
}

async function sweep(deps: SweepDependencies, isGone: (unheard: string) => boolean): Promise<number> {
  const { shard, redis, clock } = deps
  let found = 0
  for (const channel of await redis.smembers(endingChannels(shard))) {
    if ((await countSubscribers(redis, channel)) > 0 || !isGone(channel)) continue
    const ends = Object.entries(await redis.hgetall(unacknowledgedEndsKey(channel))).map(readEnd)
    // An instance that only lost its connection comes back, and acknowledges what it wrote.
    const due = ends.filter(({ notedAtMs }) => clock() - notedAtMs >= UNACKNOWLEDGED_AFTER_MS)
    for (let start = 0; start < due.length; start += AT_ONCE)
      found += await giveUp(channel, due.slice(start, start + AT_ONCE), deps)
    if (ends.length === 0) await redis.srem(endingChannels(shard), channel)
  }
  return found
}

function readEnd([callId, note]: [string, string]): UnacknowledgedEnd {
  const [taken, notedAtMs, worker = ''] = note.split(':')
  return {
    callId: callId as CallId,
    takenTokens: taken === '' ? null : Number(taken),
    notedAtMs: Number(notedAtMs),
    worker,
  }
}

async function giveUp(channel: string, ends: UnacknowledgedEnd[], deps: SweepDependencies): Promise<number> {
  const { redis, postgres, enqueueSettlements, clock } = deps
  const calls = await postgres.callRecord.findMany({
    where: { id: { in: ends.map(({ callId }) => callId) } },
    select: {
      ...{ id: true, accountId: true, keyId: true, requestId: true, requestedModel: true, stream: true },
      ...{ holdPico: true, chargePico: true, admittedAtMs: true },
    },
  })
  const records = new Map(calls.map((call) => [call.id as string, call]))
  const evidence: SettlementRecord[] = []
  const decided: string[] = []
  for (const { callId, takenTokens, notedAtMs } of ends) {
    if (takenTokens === null) {
      decided.push(callId)
      continue
    }
    const call = records.get(callId)
    // Its settlement is pending.
    if (!call && clock() - notedAtMs < KEPT_MS) continue
    decided.push(callId)
    if (!call || call.chargePico === 0n) continue
    const { holdPico, admittedAtMs, ...identity } = call
    const admitted = {
      ...identity,
      id: callId,
      holdPico: String(holdPico),
      admittedAt: Number(admittedAtMs),
    }
    evidence.push(unservedSettlement(admitted, 'failed', 'internal_error', clock(), takenTokens))
  }
  if (evidence.length > 0) await enqueueSettlements(evidence)
  if (decided.length > 0) await redis.hdel(unacknowledgedEndsKey(channel), ...decided)
  return evidence.length
}

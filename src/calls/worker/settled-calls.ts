import { deserialize, serialize } from 'node:v8'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { LEDGER_LOSSES } from '../../platform/redis/redis-keys.ts'
import type { UnsettledCall } from './finish-calls.ts'
import type { SettlementOutbox } from './settlement-outbox.ts'

/** Longer than a standby lags, and than maintenance takes to find that the ledger went back. */
const KEPT_MS = 180_000
/** Calls that a log line names. */
const NAMED = 100

export type SettledCalls = ReturnType<typeof createSettledCalls>

/**
 * The calls of one worker that PostgreSQL settled in the last minutes; the latest `max` of them. Kept as bytes, about a
 * kilobyte each: as objects they would fill the heap, and be looked at by every collection of garbage.
 */
export function createSettledCalls({ max, clock }: { max: number; clock: () => number }) {
  const kept = new Set<{ packed: Buffer; count: number; at: number }>()
  let size = 0
  const trim = () => {
    const since = clock() - KEPT_MS
    for (const batch of kept) {
      if (size <= max && batch.at > since) return
      kept.delete(batch)
      size -= batch.count
    }
  }
  return {
    add(calls: readonly UnsettledCall[]): void {
      // A copy of its own length: what the serializer returns has room to grow.
      kept.add({ packed: Buffer.from(serialize(calls)), count: calls.length, at: clock() })
      size += calls.length
      trim()
    },
    /** Those that are kept, which are kept no longer. */
    take(): UnsettledCall[] {
      trim()
      const calls = [...kept].flatMap(({ packed }) => deserialize(packed) as UnsettledCall[])
      kept.clear()
      size = 0
      return calls
    },
  }
}

/**
 * A PostgreSQL that lost commits (a failover to an asynchronous standby, a restore) has lost charges with them, and no
 * settlement job of theirs is left. Maintenance notes it in Redis when the ledger is older than a balance cache; then
 * what was settled lately is settled again. What was not lost is charged once, as ever. To be called about once a second.
 */
export function createLedgerLossCheck(deps: {
  redis: Pick<Redis, 'get'>
  settled: SettledCalls
  outbox: Pick<SettlementOutbox, 'keepUnsent'>
  /** Enqueues again what is not known to be settled, after a look for what is. Never rejects. */
  resync: () => Promise<void>
  logger: Logger
}): () => Promise<void> {
  const { redis, settled, outbox, resync, logger } = deps
  let known: string | null | undefined
  return async () => {
    const before = known
    known = await redis.get(LEDGER_LOSSES)
    // Since its start, or since Redis lost its data, this process has seen no loss yet.
    if (before === undefined || known === null || known === before) return
    // First those whose job has left the queue and was not looked for since; a look that is under way ends before.
    await resync()
    const calls = settled.take()
    for (const call of calls) outbox.keepUnsent(call)
    if (calls.length === 0) return
    const callIds = calls.slice(0, NAMED).map(({ record }) => record.id)
    logger.error(
      { alarm: 'ledger-went-back', calls: calls.length, callIds },
      'postgresql lost commits; the settlements of the last minutes are enqueued again',
    )
  }
}

import { deserialize, serialize } from 'node:v8'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { LEDGER_LOSSES } from '../../platform/redis/redis-keys.ts'
import type { UnsettledCall } from './finish-calls.ts'
import type { SettlementOutbox } from './settlement-outbox.ts'

/** Exceeds the lag of a standby, and the time in which maintenance notices that the ledger went back. */
const KEPT_MS = 180_000
/** Maximum calls named in a log line. */
const NAMED = 100

export type SettledCalls = ReturnType<typeof createSettledCalls>

/**
 * The latest calls of one worker that PostgreSQL settled in the last minutes, at most `max`. Stored as bytes, about a
 * kilobyte each: as objects they would fill the heap, and every garbage collection would visit them.
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
      // A copy of the exact length: the serializer's buffer has spare space.
      kept.add({ packed: Buffer.from(serialize(calls)), count: calls.length, at: clock() })
      size += calls.length
      trim()
    },
    /** Removes and returns the kept calls. */
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
 * A PostgreSQL that lost commits (a failover to an asynchronous standby, a restore) has lost charges whose settlement
 * jobs no longer exist. Maintenance notes it in Redis when the ledger is older than a balance cache; then recent
 * settlements are enqueued again. Calls that were not lost are still charged once. Call it about once a second.
 */
export function createLedgerLossCheck(deps: {
  redis: Pick<Redis, 'get'>
  settled: SettledCalls
  outbox: Pick<SettlementOutbox, 'keepUnsent'>
  /** Enqueues unconfirmed settlements again, after a check for confirmed ones. Never rejects. */
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
    // First the settlements whose job left the queue since the last check; a running check ends before.
    await resync()
    const calls = settled.take()
    for (const call of calls) outbox.keepUnsent(call)
    if (calls.length === 0) return
    const callIds = calls.slice(0, NAMED).map(({ record }) => record.id)
    logger.error(
      { alarm: 'ledger-went-back', calls: calls.length, callIds },
      'postgres lost commits, settlements of the last minutes enqueued again',
    )
  }
}

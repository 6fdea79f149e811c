import type { HoldStore, RestoredHold } from '../../billing/holds/hold-store.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Leases } from './leases.ts'
import { runningHold } from './restored-holds.ts'
import type { SettlementOutbox } from './settlement-outbox.ts'

/** What Redis may have lost: everything this worker ever wrote, or its last writes. */
export type ResyncReason = 'emptied' | 'reconnected'

export interface RedisResyncDependencies {
  leases: Pick<Leases, 'running' | 'renew'>
  outbox: Pick<SettlementOutbox, 'confirm' | 'holds' | 'resync'>
  holds: Pick<HoldStore, 'restore'>
  logger: Logger
}

const RESTORED_AT_ONCE = 500

/**
 * One worker's part in restoring a Redis that lost data. It resyncs leases, then holds, then settlements. Leases first:
 * a call that another worker has taken over by now may be settled, and its hold must not be restored. Settlements last:
 * they close holds. No balance is loaded from the ledger until there was time to restore the holds (RECOVERY_GRACE_MS).
 * If only the last writes were lost, the holds of ended calls are not restored, since most are settled already and
 * would be held twice. Nothing changes if nothing was lost.
 */
export function createRedisResync(deps: RedisResyncDependencies) {
  const { leases, outbox, holds, logger } = deps
  let running: Promise<void> = Promise.resolve()
  let waiting = 0
  let confirming: Promise<void> = Promise.resolve()

  const run = async (reason: ResyncReason): Promise<void> => {
    try {
      await confirming
      await leases.renew()
      let restored = await restoreAll(runningHolds(reason, deps), holds)
      if (reason === 'emptied') restored += await restoreAll(outbox.holds(), holds)
      const settlements = await outbox.resync()
      logger.warn({ reason, holds: restored, settlements }, 'redis state resynced')
    } catch (error) {
      logger.error({ err: error, reason }, 'redis resync failed')
    } finally {
      waiting -= 1
    }
  }

  return {
    /** Restores in Redis what this worker knows. Runs are sequential; never rejects. */
    resync(reason: ResyncReason): Promise<void> {
      waiting += 1
      running = running.then(() => run(reason))
      return running
    },

    /** Checks which settlements no longer need to be kept. Does nothing during a resync. Never rejects. */
    async confirm(): Promise<void> {
      if (waiting > 0) return
      confirming = outbox
        .confirm()
        .catch((error: unknown) => logger.warn({ err: error }, 'settlements not confirmed'))
      await confirming
    },
  }
}

/**
 * The holds of running calls, read while they are sent, because calls end meanwhile. A call that was taken over may be
 * settled by its former worker; if only the last writes were lost, its hold is not restored either.
 */
function* runningHolds(
  reason: ResyncReason,
  { leases, outbox }: RedisResyncDependencies,
): Iterable<RestoredHold> {
  const ended = new Set([...outbox.holds()].map((hold) => hold.callId))
  for (const { envelope, generation } of leases.running()) {
    const mayBeStale = reason === 'reconnected' && generation > 1
    if (!mayBeStale && !ended.has(envelope.id)) yield runningHold(envelope)
  }
}

/** Restores holds in batches; returns how many Redis had lost. */
async function restoreAll(lost: Iterable<RestoredHold>, holds: Pick<HoldStore, 'restore'>): Promise<number> {
  let restored = 0
  let sent: Array<Promise<boolean>> = []
  const arrived = async () => {
    const taken = await Promise.all(sent)
    restored += taken.filter(Boolean).length
    sent = []
  }
  for (const hold of lost) {
    sent.push(holds.restore(hold))
    if (sent.length === RESTORED_AT_ONCE) await arrived()
  }
  await arrived()
  return restored
}

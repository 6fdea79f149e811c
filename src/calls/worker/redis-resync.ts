import type { HoldStore, RestoredHold } from '../../billing/holds/hold-store.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Leases } from './leases.ts'
import { runningHold } from './restored-holds.ts'
import type { SettlementOutbox } from './settlement-outbox.ts'

/** What became doubtful: everything this worker ever wrote, or what it wrote last. */
export type ResyncReason = 'emptied' | 'reconnected'

export interface RedisResyncDependencies {
  leases: Pick<Leases, 'running' | 'renew'>
  outbox: Pick<SettlementOutbox, 'confirm' | 'holds' | 'resync'>
  holds: Pick<HoldStore, 'restore'>
  logger: Logger
}

const RESTORED_AT_ONCE = 500

/**
 * One worker's part in bringing a Redis back that lost data. Resyncs leases, then holds, then settlements. Leases
 * first: a call that another worker has taken over by now may be settled, and its hold must not come back. Settlements
 * last: they close holds. No balance is loaded from the ledger until holds had time to be there (RECOVERY_GRACE_MS).
 * Where little was lost the holds of ended calls are left alone, since most are settled already and would be held
 * twice. All of it changes nothing where nothing was lost.
 */
export function createRedisResync(deps: RedisResyncDependencies) {
  const { leases, outbox, holds, logger } = deps
  let running: Promise<void> = Promise.resolve()
  let waiting = 0
  let confirming: Promise<void> = Promise.resolve()

  const run = async (doubt: ResyncReason): Promise<void> => {
    try {
      await confirming
      await leases.renew()
      let restored = await restoreAll(runningHolds(doubt, deps), holds)
      if (doubt === 'emptied') restored += await restoreAll(outbox.holds(), holds)
      const settlements = await outbox.resync()
      logger.warn({ doubt, holds: restored, settlements }, 'what redis may have lost was told to it again')
    } catch (error) {
      logger.error({ err: error, doubt }, 'what redis may have lost could not be told to it again')
    } finally {
      waiting -= 1
    }
  }

  return {
    /** Tells Redis again what this worker knows. Runs one after another; never rejects. */
    resync(doubt: ResyncReason): Promise<void> {
      waiting += 1
      running = running.then(() => run(doubt))
      return running
    },

    /** Looks which settlements need to be kept no longer. Does nothing while something is resynced. Never rejects. */
    async confirm(): Promise<void> {
      if (waiting > 0) return
      confirming = outbox
        .confirm()
        .catch((error: unknown) => logger.warn({ err: error }, 'settlements could not be confirmed'))
      await confirming
    },
  }
}

/**
 * Holds of calls that run, read as they are sent: calls end meanwhile. A call that was taken over may be settled
 * by the worker that had it before; where little was lost its hold is left alone too.
 */
function* runningHolds(
  doubt: ResyncReason,
  { leases, outbox }: RedisResyncDependencies,
): Iterable<RestoredHold> {
  const ended = new Set([...outbox.holds()].map((hold) => hold.callId))
  for (const { envelope, generation } of leases.running()) {
    const isDoubtful = doubt === 'reconnected' && generation > 1
    if (!isDoubtful && !ended.has(envelope.id)) yield runningHold(envelope)
  }
}

/** Takes some holds at a time; returns how many Redis had lost. */
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

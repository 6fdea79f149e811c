import type { Logger } from 'pino'
import { lostSettlement } from '../../core/billing/settlement.ts'
import { callCreatedAt } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { FindQueuedCalls } from '../../platform/queues/call-jobs.ts'
import { findCharges, findKnownCalls } from '../call-records/known-calls.ts'
import type { BalanceStore } from '../ledger/balance-store.ts'
import type { SettlementStore } from '../settlement/settlement-store.ts'
import type { OpenHold } from './admission.ts'
import { type HoldStore, isTakebackHold } from './hold-store.ts'

export interface HoldSweepDependencies {
  holds: HoldStore
  settlements: SettlementStore
  postgres: Postgres
  balances: BalanceStore
  /** Which calls have a dispatch or settlement job. Checks dispatch first: see sweepHolds. */
  findQueued: FindQueuedCalls
  logger: Logger
}

/** One process takes the hold and enqueues the job in one step; a hold this old without a job lost its process. */
const LOST_AFTER_MS = 60_000
const ACCOUNTS_AT_ONCE = 100

/**
 * Closes the holds of accounts whose calls are gone. A call moves from dispatch job to settlement job to call record,
 * each created before the previous one is removed, so checking in that order cannot miss a living call. A call in none
 * of the three was lost: it is settled as failed, at no charge. A settled call keeps its charge, and only its hold is
 * closed. Quarantined calls keep their hold. Checks holds past their deadline and all that are older than a minute, so
 * that a crash does not lock up money for long. Scans the queues once for all accounts. Returns the number of lost
 * calls.
 */
export async function sweepHolds(
  accountIds: readonly string[],
  nowMs: number,
  deps: HoldSweepDependencies,
): Promise<number> {
  const suspects: Suspects[] = []
  for (const some of portions(accountIds)) {
    const found = await Promise.all(some.map((accountId) => findSuspects(accountId, nowMs, deps)))
    suspects.push(...found.filter(({ holds }) => holds.length > 0))
  }
  if (suspects.length === 0) return 0
  const queued = await deps.findQueued(
    suspects.flatMap(({ accountId, holds }) => holds.map(({ callId }) => ({ accountId, callId }))),
  )
  let lost = 0
  for (const some of portions(suspects)) {
    const counts = await Promise.all(
      some.map(({ accountId, holds }) => {
        const gone = holds.filter(({ callId }) => !queued.has(callId))
        return gone.length === 0 ? 0 : closeGone(accountId, gone, nowMs, deps)
      }),
    )
    lost += counts.reduce((sum, count) => sum + count, 0)
  }
  return lost
}

/** Holds of an account whose calls may be gone. */
interface Suspects {
  accountId: string
  holds: OpenHold[]
}

function* portions<T>(all: readonly T[]): Iterable<T[]> {
  for (let start = 0; start < all.length; start += ACCOUNTS_AT_ONCE)
    yield all.slice(start, start + ACCOUNTS_AT_ONCE)
}

async function findSuspects(
  accountId: string,
  nowMs: number,
  deps: HoldSweepDependencies,
): Promise<Suspects> {
  const holds = await deps.holds.openHolds(accountId)
  const expired = new Set(holds.flatMap((hold) => (hold.deadlineAt <= nowMs ? hold.callId : [])))
  const isOld = (callId: string) => (callCreatedAt(callId) ?? nowMs) + LOST_AFTER_MS <= nowMs
  const takebacks = [...expired].filter(isTakebackHold)
  await closeTakebacks(accountId, takebacks, deps)
  const suspects = holds.filter(
    ({ callId }) => !isTakebackHold(callId) && (expired.has(callId) || isOld(callId)),
  )
  return { accountId, holds: suspects }
}

/** Releases the holds of failed takebacks; none of them can continue. */
async function closeTakebacks(
  accountId: string,
  holdIds: string[],
  { balances, holds }: HoldSweepDependencies,
): Promise<void> {
  if (holdIds.length === 0) return
  const ledger = (await balances.balances([accountId])).get(accountId)
  if (!ledger) return
  const released = holdIds.map((callId) => ({ callId, chargePico: 0n }))
  await holds.apply(accountId, ledger, released)
}

/** Closes the holds of calls that have no job. Returns how many of them were lost. */
async function closeGone(
  accountId: string,
  gone: OpenHold[],
  nowMs: number,
  deps: HoldSweepDependencies,
): Promise<number> {
  const { settled, quarantined } = await findKnownCalls(
    deps.postgres,
    gone.map((hold) => hold.callId),
  )
  const isLost = (hold: OpenHold) => !settled.has(hold.callId) && !quarantined.has(hold.callId)
  const records = gone.filter(isLost).map((hold) => lostSettlement(accountId, hold, nowMs))
  const { accounts } = await deps.settlements.settle(records)
  for (const { released, ...ledger } of accounts) await deps.holds.apply(accountId, ledger, released)
  await closeSettled(
    accountId,
    gone.flatMap(({ callId }) => (settled.has(callId) ? [callId] : [])),
    deps,
  )
  const lost = records.map((record) => record.id)
  if (lost.length > 0) {
    deps.logger.warn(
      { alarm: 'calls-lost', accountId, calls: lost.length, callIds: lost },
      'holds of lost calls released',
    )
  }
  return lost.length
}

/** Closes the holds that remained of settled calls. */
async function closeSettled(
  accountId: string,
  callIds: string[],
  { postgres, balances, holds }: HoldSweepDependencies,
): Promise<void> {
  if (callIds.length === 0) return
  // Read before the balance, which then includes the charges.
  const charges = await findCharges(postgres, callIds)
  const ledger = (await balances.balances([accountId])).get(accountId)
  if (!ledger) return
  const released = [...charges].map(([callId, chargePico]) => ({ callId, chargePico }))
  await holds.apply(accountId, ledger, released)
}

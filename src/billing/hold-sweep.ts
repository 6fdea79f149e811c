import type { Logger } from 'pino'
import { callCreatedAt } from '../core/call-created-at.ts'
import type { SettlementRecord } from '../core/call-job.ts'
import type { CallId } from '../core/ids.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { FindQueuedCalls } from '../platform/queued-calls.ts'
import type { HoldGate, OpenHold } from './hold-gate.ts'
import { findKnownCalls } from './known-calls.ts'
import { isTakebackHold, releaseTakebacks } from './payments/takeback-hold.ts'
import type { SettlementStore } from './settlement-store.ts'

export interface HoldSweepDependencies {
  gate: HoldGate
  settlements: SettlementStore
  postgres: Postgres
  /** Which calls have a dispatch or settlement job. Looks at dispatch first: see sweepHolds. */
  findQueued: FindQueuedCalls
  logger: Logger
}

/** From hold to dispatch job is one step of one process; a hold this old without a job lost its process. */
const LOST_AFTER_MS = 60_000

/**
 * Closes the holds of one account whose calls are gone. A call passes from dispatch job to settlement job to
 * call record, each made before the one before it goes, so looking in that order cannot miss a living call.
 * What is in none of the three was lost: it is settled as failed, at no charge. A call that was settled
 * keeps its charge, and only its hold is closed. Quarantined calls keep their hold. Looks at holds past
 * their deadline, and at all that are older than a minute: a crash should not lock up money for long.
 * Returns how many calls had been lost.
 */
export async function sweepHolds(
  accountId: string,
  nowMs: number,
  deps: HoldSweepDependencies,
): Promise<number> {
  const holds = await deps.gate.openHolds(accountId)
  const expired = new Set(await deps.gate.expiredHolds(accountId, nowMs))
  const isOld = (callId: string) => (callCreatedAt(callId) ?? nowMs) + LOST_AFTER_MS <= nowMs
  const takebacks = [...expired].filter(isTakebackHold)
  await releaseTakebacks(accountId, takebacks, deps)
  const suspects = holds.filter(
    ({ callId }) => !isTakebackHold(callId) && (expired.has(callId) || isOld(callId)),
  )
  if (suspects.length === 0) return 0
  const queued = await deps.findQueued(suspects.map(({ callId }) => callId))
  const gone = suspects.filter(({ callId }) => !queued.has(callId))
  if (gone.length === 0) return 0

  const { settled, quarantined } = await findKnownCalls(
    deps.postgres,
    gone.map((hold) => hold.callId),
  )
  const records = gone
    .filter(({ callId }) => settled.has(callId) || !quarantined.has(callId))
    .map((hold) => lostCall(accountId, hold, nowMs))
  const { accounts } = await deps.settlements.settle(records)
  for (const { released, ...ledger } of accounts) await deps.gate.apply(accountId, ledger, released)
  const lost = records.map((record) => record.id).filter((callId) => !settled.has(callId))
  if (lost.length > 0) {
    deps.logger.warn(
      { alarm: 'calls-lost', accountId, calls: lost.length, callIds: lost },
      'holds of lost calls were released',
    )
  }
  return lost.length
}

/** What can still be said of a call of which only the hold is left. */
function lostCall(accountId: string, hold: OpenHold, nowMs: number): SettlementRecord {
  return {
    id: hold.callId as CallId,
    accountId,
    keyId: hold.keyId,
    requestId: hold.callId,
    status: 'failed',
    errorCode: 'internal_error',
    finishReason: null,
    requestedModel: 'unknown',
    stream: false,
    served: null,
    usage: { promptTokens: 0, completionTokens: 0 },
    usageSource: 'none',
    usageClamped: false,
    chargePico: '0',
    holdPico: String(hold.amountPico),
    attempts: [],
    admittedAt: callCreatedAt(hold.callId) ?? nowMs,
    claimedAt: null,
    firstTokenAt: null,
    finishedAt: nowMs,
  }
}

import type { Logger } from 'pino'
import { decodeTime } from 'ulid'
import type { SettlementRecord } from '../core/call-job.ts'
import type { CallId } from '../core/ids.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { HoldGate, OpenHold } from './hold-gate.ts'
import type { SettlementStore } from './settlement-store.ts'

export interface HoldSweepDependencies {
  gate: HoldGate
  settlements: SettlementStore
  postgres: Postgres
  /** Whether a dispatch or settlement job of the call exists. Looks at dispatch first: see sweepHolds. */
  isQueued: (callId: string) => Promise<boolean>
  logger: Logger
}

const QUARANTINED = 'SELECT id FROM quarantined_settlements WHERE id = ANY ($1::text[])'
const RECORDED = 'SELECT id FROM call_records WHERE id = ANY ($1::text[])'
const CALL_ID_PREFIX = 'chatcmpl_'

/**
 * Closes the holds of one account that outlived their deadline. A call passes from dispatch job to
 * settlement job to call record, each made before the one before it goes, so looking in that order cannot
 * miss a living call. What is in none of the three was lost: it is settled as failed, at no charge. A call
 * that was settled keeps its charge, and only its hold is closed. Quarantined calls keep their hold.
 * Returns how many calls had been lost.
 */
export async function sweepHolds(
  accountId: string,
  nowMs: number,
  deps: HoldSweepDependencies,
): Promise<number> {
  const expired = await deps.gate.expiredHolds(accountId, nowMs)
  if (expired.length === 0) return 0
  const queued = await Promise.all(expired.map(deps.isQueued))
  const gone = expired.filter((_, index) => !queued[index])
  const quarantined = await idsOf(deps.postgres, QUARANTINED, gone)
  const closing = gone.filter((callId) => !quarantined.has(callId))
  if (closing.length === 0) return 0

  const recorded = await idsOf(deps.postgres, RECORDED, closing)
  const holds = new Map((await deps.gate.openHolds(accountId)).map((hold) => [hold.callId, hold]))
  const records = closing.flatMap((callId) => {
    const hold = holds.get(callId)
    return hold ? [lostCall(accountId, hold, nowMs)] : []
  })
  const outcome = await deps.settlements.settle(records)
  for (const { released, ...ledger } of outcome.accounts) await deps.gate.apply(accountId, ledger, released)
  const lost = records.filter((record) => !recorded.has(record.id)).map((record) => record.id)
  if (lost.length > 0) deps.logger.warn({ accountId, callIds: lost }, 'holds of lost calls were released')
  return lost.length
}

async function idsOf(postgres: Postgres, sql: string, ids: string[]): Promise<Set<string>> {
  const rows = await postgres.$queryRawUnsafe<Array<{ id: string }>>(sql, ids)
  return new Set(rows.map((row) => row.id))
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
    admittedAt: admittedAt(hold.callId) ?? nowMs,
    claimedAt: null,
    firstTokenAt: null,
    finishedAt: nowMs,
  }
}

/** A call's id is a ULID, which starts with the time of its making. */
function admittedAt(callId: string): number | null {
  if (!callId.startsWith(CALL_ID_PREFIX)) return null
  try {
    return decodeTime(callId.slice(CALL_ID_PREFIX.length))
  } catch {
    // Not a ULID: an id from a test or another version. The time is for information only.
    return null
  }
}

import type { TimeRange } from '../../core/billing/usage-query.ts'
import { callIdRange } from '../../core/calls/call-id-range.ts'
import type { CallStatus } from '../../core/calls/call-status.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { type ListedCall, toListedCall } from './call-record-store.ts'

/** Which calls are looked for; null: any. */
export interface CallFilter {
  accountId: string | null
  keyId: string | null
  requestId: string | null
  status: CallStatus | null
  /** As asked for, or as served. */
  model: string | null
  offerId: string | null
  minDurationMs: number | null
}

export interface CallSearchStore {
  /** Settled calls of any account admitted in a span of time, newest first, after a call's id. */
  page(filter: CallFilter, range: TimeRange, after: string | null, limit: number): Promise<ListedCall[]>
}

/**
 * Walks the primary key: ids begin with their time, so no index of its own is needed on the table that every call
 * writes to. Only the conditions that are asked for are in the statement, for the planner's sake.
 */
export function createCallSearchStore(postgres: Postgres): CallSearchStore {
  return {
    async page(filter, range, after, limit) {
      const ids = callIdRange(range)
      const values: unknown[] = []
      const value = (some: unknown): string => `$${values.push(some)}`
      const conditions = [
        `id >= ${value(ids.from)}`,
        `id < ${value(after !== null && after < ids.to ? after : ids.to)}`,
        `admitted_at_ms >= ${value(BigInt(range.fromMs))}`,
        `admitted_at_ms < ${value(BigInt(range.toMs))}`,
      ]
      const { accountId, keyId, requestId, status, model, offerId, minDurationMs } = filter
      if (accountId !== null) conditions.push(`account_id = ${value(accountId)}`)
      if (keyId !== null) conditions.push(`key_id = ${value(keyId)}`)
      if (requestId !== null) conditions.push(`request_id = ${value(requestId)}`)
      if (status !== null) conditions.push(`status = ${value(status)}::call_status`)
      if (model !== null) {
        const named = value(model)
        conditions.push(`(requested_model = ${named} OR served_model_id = ${named})`)
      }
      if (offerId !== null) conditions.push(`served_offer_id = ${value(offerId)}`)
      if (minDurationMs !== null)
        conditions.push(`finished_at_ms - admitted_at_ms >= ${value(minDurationMs)}::integer`)
      const found = await postgres.$queryRawUnsafe<Array<{ id: string }>>(
        `SELECT id FROM call_records WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT ${value(limit)}::integer`,
        ...values,
      )
      const rows = await postgres.callRecord.findMany({
        where: { id: { in: found.map(({ id }) => id) } },
        orderBy: { id: 'desc' },
        omit: { attempts: true },
      })
      return rows.map(toListedCall)
    },
  }
}

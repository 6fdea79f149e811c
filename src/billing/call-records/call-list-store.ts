import type { CallCursor, TimeRange } from '../../core/billing/usage-query.ts'
import type { CallStatus } from '../../core/calls/call-status.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { type ListedCall, toListedCall } from './call-record-store.ts'

/** Which of an account's calls; absent: all. */
export interface CallFilter {
  /** As the answer named it. */
  model?: string
  keyId?: string
  status?: CallStatus
}

export interface CallListStore {
  /** Settled calls of an account admitted in a span of time, newest first, after a cursor; at most `limit`. */
  page(
    accountId: string,
    range: TimeRange,
    after: CallCursor | null,
    limit: number,
    filter?: CallFilter,
  ): Promise<ListedCall[]>
}

export function createCallListStore(postgres: Postgres): CallListStore {
  return {
    async page(accountId, { fromMs, toMs }, after, limit, { model, keyId, status } = {}) {
      // Nothing sorts before the empty id, so without a cursor just the end of the span is left out.
      const start = { admittedAtMs: toMs, callId: '' }
      const { admittedAtMs, callId } = after && after.admittedAtMs < toMs ? after : start
      const rows = await postgres.callRecord.findMany({
        where: {
          accountId,
          ...(model !== undefined && { requestedModel: model }),
          ...(keyId !== undefined && { keyId }),
          ...(status !== undefined && { status }),
          admittedAtMs: { gte: BigInt(fromMs), lte: BigInt(admittedAtMs) },
          OR: [{ admittedAtMs: { lt: BigInt(admittedAtMs) } }, { id: { lt: callId } }],
        },
        orderBy: [{ admittedAtMs: 'desc' }, { id: 'desc' }],
        take: limit,
        omit: { attempts: true },
      })
      return rows.map(toListedCall)
    },
  }
}

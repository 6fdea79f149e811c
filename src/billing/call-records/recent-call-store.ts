import type { Postgres } from '../../platform/postgres/postgres.ts'
import { type ListedCall, toListedCall } from './call-record-store.ts'

export interface RecentCallStore {
  /**
   * Calls of some accounts that were settled after a moment, oldest first: of each account's latest, so that one
   * with very many costs no more than another.
   */
  settledSince(accountIds: readonly string[], settledAfterMs: number): Promise<ListedCall[]>
}

/** Of each account. */
const LATEST_MAX = 100

const SETTLED_IDS = `
SELECT latest.id FROM unnest($1::text[]) AS account (id)
CROSS JOIN LATERAL (
  SELECT id, settled_at_ms FROM call_records
  WHERE account_id = account.id ORDER BY admitted_at_ms DESC LIMIT ${LATEST_MAX}
) AS latest
WHERE latest.settled_at_ms > $2`

export function createRecentCallStore(postgres: Postgres): RecentCallStore {
  return {
    async settledSince(accountIds, settledAfterMs) {
      const ids = await postgres.$queryRawUnsafe<Array<{ id: string }>>(
        SETTLED_IDS,
        accountIds,
        BigInt(settledAfterMs),
      )
      if (ids.length === 0) return []
      const rows = await postgres.callRecord.findMany({
        where: { id: { in: ids.map(({ id }) => id) } },
        orderBy: [{ settledAtMs: 'asc' }, { id: 'asc' }],
        omit: { attempts: true },
      })
      return rows.map(toListedCall)
    },
  }
}

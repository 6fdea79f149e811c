import type { Postgres } from '../../platform/postgres/postgres.ts'

/** A settlement that the database rejected, with its record as the queue carried it. */
export interface QuarantinedSettlement {
  id: string
  reason: string
  /** JSON. */
  record: string
  createdAt: Date
}

/** Id prefix of settlements whose record names no call. */
export const UNNAMED = 'unnamed_'

/**
 * Whether quarantined settlement `q` still waits for a decision: no settlement of the call since then outranks it. Its
 * record may be text that PostgreSQL's JSON types reject, so it is searched as text; a client's text cannot look like
 * this, since its quotes are escaped. A settlement that names no call, or one of an archived month, waits until an
 * operator has reviewed it. Months are archived without any that waits.
 */
export const OPEN_QUARANTINE = `
NOT EXISTS (
  SELECT 1 FROM call_records AS c
  WHERE c.id = q.id AND (c.served_offer_id IS NOT NULL OR strpos(q.record, '"served":null') > 0)
) AND NOT (
  (starts_with(q.id, '${UNNAMED}') OR archived_at(q.id) IS NOT NULL)
  AND EXISTS (SELECT 1 FROM call_reviews AS review WHERE review.call_id = q.id)
) AND NOT coalesce(q.created_at < archived_at(q.id), false)`

const OPEN = `
SELECT id, reason, record, created_at AS "createdAt" FROM quarantined_settlements AS q
WHERE ${OPEN_QUARANTINE}
ORDER BY created_at, id LIMIT 1000`

export type QuarantineStore = ReturnType<typeof createQuarantineStore>

/** Settlements that wait for an operator's decision. */
export function createQuarantineStore(postgres: Postgres) {
  return {
    /** The settlements that have not been settled or closed since, oldest first. */
    open: () => postgres.$queryRawUnsafe<QuarantinedSettlement[]>(OPEN),
    /** Whether it cannot be settled, whatever is changed: it names no call, or one of an archived month. */
    async isUnsettleable(id: string): Promise<boolean> {
      if (id.startsWith(UNNAMED)) return true
      const [row] = await postgres.$queryRawUnsafe<Array<{ at: Date | null }>>(
        'SELECT archived_at($1) AS at',
        id,
      )
      return row?.at != null
    },
    /** Closes such a settlement: there is nothing to charge and no hold to release. */
    async close(id: string) {
      const data = [{ callId: id, note: 'waived: the record names no call, or one of an archived month' }]
      await postgres.callReview.createMany({ data, skipDuplicates: true })
    },
  }
}

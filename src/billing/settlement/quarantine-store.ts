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
 * this, since its quotes are escaped. A settlement that names no call waits until an operator has reviewed it.
 */
export const OPEN_QUARANTINE = `
NOT EXISTS (
  SELECT 1 FROM call_records AS c
  WHERE c.id = q.id AND (c.served_offer_id IS NOT NULL OR strpos(q.record, '"served":null') > 0)
) AND NOT (
  starts_with(q.id, '${UNNAMED}') AND EXISTS (SELECT 1 FROM call_reviews AS review WHERE review.call_id = q.id)
)`

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
    /** Closes a settlement that names no call: there is nothing to charge and no hold to release. */
    async closeUnnamed(id: string) {
      const data = [{ callId: id, note: 'waived: the record names no call' }]
      await postgres.callReview.createMany({ data, skipDuplicates: true })
    },
  }
}

import type { Postgres } from '../../platform/postgres/postgres.ts'

/** A settlement that the database refused, with its record as the queue carried it. */
export interface QuarantinedSettlement {
  id: string
  reason: string
  /** JSON. */
  record: string
  createdAt: Date
}

/** Begins the ids of those whose record names no call. */
export const UNNAMED = 'unnamed_'

/**
 * Whether quarantined settlement `q` still waits for a decision: nothing was settled for the call since that it
 * would not outrank. Its record may be text that PostgreSQL's JSON types refuse, so it is searched as text; a
 * client's own words cannot look like this, since their quotes are escaped. One that names no call waits until a
 * person has reviewed it.
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

/** Settlements set aside for a person to decide about. */
export function createQuarantineStore(postgres: Postgres) {
  return {
    /** Those that have not been settled or closed since, oldest first. */
    open: () => postgres.$queryRawUnsafe<QuarantinedSettlement[]>(OPEN),
    /** Closes one that names no call: there is nothing to charge and no hold to release. */
    async closeUnnamed(id: string) {
      const data = [{ callId: id, note: 'waived: it names no call' }]
      await postgres.callReview.createMany({ data, skipDuplicates: true })
    },
  }
}

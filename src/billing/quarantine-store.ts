import type { Postgres } from '../platform/postgres.ts'

/** A settlement that the database refused, with its record as the queue carried it. */
export interface QuarantinedSettlement {
  id: string
  reason: string
  /** JSON. */
  record: string
  createdAt: Date
}

export interface QuarantineStore {
  /** Those that have not been settled since, oldest first. */
  open(): Promise<QuarantinedSettlement[]>
}

const OPEN = `
SELECT id, reason, record, created_at AS "createdAt" FROM quarantined_settlements AS quarantined
WHERE NOT EXISTS (SELECT 1 FROM call_records WHERE call_records.id = quarantined.id)
ORDER BY created_at, id LIMIT 1000`

/** Settlements set aside for a person to decide about. */
export function createQuarantineStore(postgres: Postgres): QuarantineStore {
  return { open: () => postgres.$queryRawUnsafe<QuarantinedSettlement[]>(OPEN) }
}

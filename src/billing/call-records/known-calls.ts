import type { Postgres } from '../../platform/postgres/postgres.ts'

/** Which of some calls are in PostgreSQL, settled or in quarantine. */
export interface KnownCalls {
  settled: Set<string>
  quarantined: Set<string>
}

const SETTLED = 'SELECT id FROM call_records WHERE id = ANY ($1::text[])'
const QUARANTINED = 'SELECT id FROM quarantined_settlements WHERE id = ANY ($1::text[])'

/** Looks calls up by id. A call in both sets was quarantined and settled since. */
export async function findKnownCalls(postgres: Postgres, callIds: string[]): Promise<KnownCalls> {
  if (callIds.length === 0) return { settled: new Set(), quarantined: new Set() }
  const idsOf = async (sql: string) => {
    const rows = await postgres.$queryRawUnsafe<Array<{ id: string }>>(sql, callIds)
    return new Set(rows.map((row) => row.id))
  }
  const [quarantined, settled] = await Promise.all([idsOf(QUARANTINED), idsOf(SETTLED)])
  return { settled, quarantined }
}

const CHARGES = 'SELECT id, charge_pico AS "chargePico" FROM call_records WHERE id = ANY ($1::text[])'

/** The charges of those calls that are settled; pico-USD. */
export async function findCharges(postgres: Postgres, callIds: string[]): Promise<Map<string, bigint>> {
  const rows = await postgres.$queryRawUnsafe<Array<{ id: string; chargePico: bigint }>>(CHARGES, callIds)
  return new Map(rows.map(({ id, chargePico }) => [id, chargePico]))
}

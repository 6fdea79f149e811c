import { PRESET_PURPOSE } from '../accounts/presets/preset-store.ts'
import { TOTP_PURPOSE } from '../accounts/second-factor/totp.ts'
import { PLATFORM_KEY_PURPOSE } from '../catalog/platform-keys.ts'
import { GUARDRAIL_PURPOSE } from '../core/guardrails/guardrail.ts'
import { BYOK_KEY_PURPOSE } from '../core/routing/byok.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { createSealer, type MasterKeys, sealedPrefix } from '../platform/sealing.ts'
import { WEBHOOK_SECRET_PURPOSE } from '../webhooks/endpoint-store.ts'
import { DESTINATION_PURPOSE } from './alarm-destination-store.ts'

/** A column of persistent texts that are sealed under the master key. */
interface SealedColumn {
  table: string
  column: string
  purpose: string
  /** SQL for the key of a row; `id` if absent. */
  key?: string
  /** SQL for the context of a sealed text. */
  context: string
}

/** All sealed texts that are kept longer than a day. Those in Redis expire by then, open under either key, or are copies. */
const SEALED_COLUMNS: readonly SealedColumn[] = [
  {
    table: 'provider_keys',
    column: 'secret_sealed',
    purpose: BYOK_KEY_PURPOSE,
    context: "account_id || '/' || id",
  },
  { table: 'webhook_endpoints', column: 'secret_sealed', purpose: WEBHOOK_SECRET_PURPOSE, context: 'id' },
  { table: 'guardrails', column: 'secret_sealed', purpose: GUARDRAIL_PURPOSE, context: 'id' },
  {
    table: 'webhook_endpoints',
    column: 'previous_secret_sealed',
    purpose: WEBHOOK_SECRET_PURPOSE,
    context: 'id',
  },
  {
    table: 'account_totp',
    column: 'secret_sealed',
    purpose: TOTP_PURPOSE,
    key: 'account_id',
    context: 'account_id',
  },
  {
    table: 'platform_keys',
    column: 'secret_sealed',
    purpose: PLATFORM_KEY_PURPOSE,
    key: "(provider_id || '/' || id)",
    context: "provider_id || ' ' || array_to_string(origins, ' ')",
  },
  {
    table: 'preset_versions',
    column: 'settings_sealed',
    purpose: PRESET_PURPOSE,
    context: "account_id || '/' || name || '@' || version",
  },
  { table: 'alarm_destinations', column: 'target_sealed', purpose: DESTINATION_PURPOSE, context: 'id' },
]

const BATCH = 100

const nextSql = ({ table, column, key = 'id', context }: SealedColumn) => `
SELECT ${key} AS "id", ${column} AS "sealed", ${context} AS "context" FROM ${table}
WHERE ${key} > $1 AND ${column} IS NOT NULL AND NOT starts_with(${column}, $2)
ORDER BY ${key} LIMIT ${BATCH}`

/** Leaves a text unchanged that another process has changed. */
const replaceSql = ({ table, column, key = 'id' }: SealedColumn) => `
UPDATE ${table} SET ${column} = fresh.sealed
FROM json_to_recordset($1::json) AS fresh (row_key text, before text, sealed text)
WHERE ${key} = fresh.row_key AND ${table}.${column} = fresh.before`

export interface ResealReport {
  /** How many texts were resealed, by table. */
  resealed: Record<string, number>
  /** `table id` of texts that none of the configured master keys opens. */
  unopened: string[]
}

/**
 * Seals every stored text under the current master key, a hundred at a time. Texts that are under it already are
 * skipped, so it can be interrupted and repeated at any time, while everything runs.
 */
export async function resealAll(postgres: Postgres, masterKeys: MasterKeys): Promise<ResealReport> {
  const report: ResealReport = { resealed: {}, unopened: [] }
  for (const sealed of SEALED_COLUMNS) {
    report.resealed[sealed.table] ??= 0
    await resealColumn(postgres, masterKeys, sealed, report)
  }
  return report
}

async function resealColumn(
  postgres: Postgres,
  masterKeys: MasterKeys,
  sealed: SealedColumn,
  report: ResealReport,
): Promise<void> {
  const sealer = createSealer(masterKeys, sealed.purpose)
  const prefix = sealedPrefix(masterKeys)
  for (let after = ''; ; ) {
    const rows = await postgres.$queryRawUnsafe<Array<{ id: string; sealed: string; context: string }>>(
      nextSql(sealed),
      after,
      prefix,
    )
    const fresh = rows.flatMap(({ id, sealed: before, context }) => {
      try {
        return [{ row_key: id, before, sealed: sealer.seal(sealer.open(before, context), context) }]
      } catch {
        // Reported without a stop, so that one lost text does not keep all others under the old key.
        report.unopened.push(`${sealed.table} ${id}`)
        return []
      }
    })
    report.resealed[sealed.table]! += await postgres.$executeRawUnsafe(
      replaceSql(sealed),
      JSON.stringify(fresh),
    )
    const last = rows.at(-1)
    if (!last || rows.length < BATCH) return
    after = last.id
  }
}

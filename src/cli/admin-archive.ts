import { archiveMonth } from '../billing/archive/archive-month.ts'
import { verifyArchive } from '../billing/archive/verify-archive.ts'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import { isoTime } from '../core/kernel/time.ts'
import { createClickHouse } from '../platform/clickhouse.ts'
import { openConnections } from '../platform/connections.ts'
import type { AdminCommands, AdminContext } from './admin-command.ts'
import { list, one, UsageError } from './run-command.ts'

/** Months whose calls and postings leave the database. */
export const archiveCommands: AdminCommands = {
  async archive(context) {
    const [first, file] = context.input.arguments
    if (first === 'list') return listMonths(context)
    if (first === 'verify') {
      if (!file) throw new UsageError('name the manifest or the folder of the archive')
      const { manifest, sha256, rows } = await verifyArchive(file)
      return one({
        month: manifest.month,
        verified: true,
        ...rows,
        charge_usd: usd(manifest.charge_pico),
        manifest_sha256: sha256,
      })
    }
    const month = context.input.subject('name the month, as 2026-03; or list, or verify FILE')
    const folder = context.input.required('directory', 'must name the folder that gets the files')
    const { config, holds, audits, auditLog, operator } = context
    const connections = openConnections(config)
    const postgres = connections.postgres('shuntyard-archive', { poolSize: 1, statementTimeoutMs: 0 })
    const clickHouse = config.clickHouseUrl === '' ? null : createClickHouse(config.clickHouseUrl)
    const action = { action: 'calls.archive', target: month, details: { directory: folder } }
    try {
      const archived = await auditLog.auditedAction(operator, action, () =>
        archiveMonth({ postgres, holds, audits, clickHouse, clock: Date.now }, month, folder),
      )
      const { rows, sha256, manifest } = archived
      return one({
        month,
        folder: archived.folder,
        ...rows,
        charge_usd: usd(manifest.charge_pico),
        manifest_sha256: sha256,
      })
    } finally {
      await connections.close()
    }
  },
}

const usd = (pico: string): string => formatUsd(picoUsd(BigInt(pico)))

async function listMonths({ postgres }: AdminContext) {
  const months = await postgres.archivedMonth.findMany({ orderBy: { month: 'desc' } })
  const views = months.map(({ month, closedAt, archivedAt, calls, chargePico, manifestSha256 }) => ({
    month: month.toISOString().slice(0, 7),
    closed_at: isoTime(closedAt),
    archived_at: archivedAt && isoTime(archivedAt),
    calls: calls === null ? null : Number(calls),
    charge_usd: chargePico === null ? null : usd(chargePico.toFixed()),
    manifest_sha256: manifestSha256,
  }))
  return list('months', views, 'No month is archived.')
}

import { newId } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { AuditRun as AuditRunRow } from '../../platform/prisma-client/client.ts'
import type { AuditReport } from './audit-books.ts'

/** One recorded audit. */
export type AuditRun = Omit<AuditRunRow, 'figures' | 'checks' | 'discrepancies'> &
  Pick<AuditReport, 'figures' | 'checks' | 'discrepancies'>

export interface NewAuditRun {
  at: Date
  durationMs: number
  cause: 'schedule' | 'operator'
  report: AuditReport
}

export interface AuditRunStore {
  record(run: NewAuditRun): Promise<void>
  /** Null when there was none. */
  latest(): Promise<AuditRun | null>
  /** Newest first, after a run's id. */
  page(query: { after: string | null; limit: number }): Promise<AuditRun[]>
  /** Removes runs before a time that found no discrepancy; the others stay. */
  prune(before: Date): Promise<void>
}

export function createAuditRunStore(postgres: Postgres): AuditRunStore {
  const page: AuditRunStore['page'] = async ({ after, limit }) => {
    const rows = await postgres.auditRun.findMany({
      ...(after !== null && { where: { id: { lt: after } } }),
      orderBy: { id: 'desc' },
      take: limit,
    })
    return rows.map(toRun)
  }
  return {
    page,
    async record({ at, durationMs, cause, report }) {
      const { ok, figures, checks } = report
      const discrepancies = report.discrepancies.map((found) => ({ ...found }))
      await postgres.auditRun.create({
        data: { id: newId('audit'), at, durationMs, ok, cause, figures, checks, discrepancies },
      })
    },
    async latest() {
      return (await page({ after: null, limit: 1 }))[0] ?? null
    },
    async prune(before) {
      await postgres.auditRun.deleteMany({ where: { ok: true, at: { lt: before } } })
    },
  }
}

/** Written by `record` alone, from reports of this shape. */
const toRun = (row: AuditRunRow): AuditRun => row as unknown as AuditRun

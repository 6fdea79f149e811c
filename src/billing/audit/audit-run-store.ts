import { newId } from '../../core/kernel/ids.ts'
import { type IdPage, newestFirst, type Postgres } from '../../platform/postgres/postgres.ts'
import type { AuditRun as AuditRunRow } from '../../platform/prisma-client/client.ts'
import type { AuditReport } from './run-audit.ts'

export type AuditRun = Omit<AuditRunRow, 'figures' | 'checks' | 'discrepancies'> &
  Pick<AuditReport, 'figures' | 'checks' | 'discrepancies'>

export interface NewAuditRun {
  at: Date
  durationMs: number
  cause: 'schedule' | 'operator'
  report: AuditReport
}

export type AuditRunStore = ReturnType<typeof createAuditRunStore>

export function createAuditRunStore(postgres: Postgres) {
  const page = async (query: IdPage): Promise<AuditRun[]> =>
    (await postgres.auditRun.findMany(newestFirst(query, {}))).map(toRun)
  return {
    /** Lists runs, newest first, after a run's id. */
    page,
    async record({ at, durationMs, cause, report }: NewAuditRun): Promise<void> {
      const { ok, isFull, figures, checks } = report
      const discrepancies = report.discrepancies.map((found) => ({ ...found }))
      await postgres.auditRun.create({
        data: { id: newId('audit'), at, durationMs, ok, cause, isFull, figures, checks, discrepancies },
      })
    },
    /** Null if there is none. */
    async latest(): Promise<AuditRun | null> {
      return (await page({ after: null, limit: 1 }))[0] ?? null
    },
    /** Removes runs without discrepancies before a time; the others are kept. */
    async prune(before: Date): Promise<void> {
      await postgres.auditRun.deleteMany({ where: { ok: true, at: { lt: before } } })
    },
  }
}

/** Only `record` writes these rows, from reports of this shape. */
const toRun = (row: AuditRunRow): AuditRun => row as unknown as AuditRun

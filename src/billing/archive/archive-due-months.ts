import type { Logger } from '../../platform/observability/logger.ts'
import { archiveMonth } from './archive-month.ts'
import type { ArchiveDependencies } from './open-month.ts'

/** The oldest month with a partition, if it ended more than $2 months ago. */
const DUE = `
SELECT to_char(first.month, 'YYYY-MM') AS month FROM (
  SELECT min(to_date(right(child.relname, 7), 'YYYY_MM')) AS month
  FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
  WHERE inhparent = 'call_records'::regclass AND child.relname ~ '_[0-9]{4}_[0-9]{2}$'
) AS first
WHERE first.month + ($2::integer + 1) * interval '1 month' <= to_timestamp($1::bigint / 1000.0) AT TIME ZONE 'UTC'`

/**
 * Archives each month that ended more than `keptMonths` ago, the oldest first. One that is refused or fails is an alarm. A
 * month that is under way when the process stops is resumed by the next run.
 */
export async function archiveDueMonths(
  deps: ArchiveDependencies & { keptMonths: number; folder: string; logger: Logger },
  stopping?: AbortSignal,
): Promise<void> {
  const { postgres, clock, keptMonths, folder, logger } = deps
  while (!stopping?.aborted) {
    const [due] = await postgres.plain.query<{ month: string }>(DUE, [clock(), keptMonths])
    if (!due) return
    try {
      const { rows, sha256, folder: target } = await archiveMonth(deps, due.month, folder, stopping)
      logger.info({ ...due, target, rows, sha256, alarmsOver: ['archive-failed'] }, 'month archived')
    } catch (error) {
      if (stopping?.aborted) return
      logger.error({ alarm: 'archive-failed', err: error, ...due }, 'month not archived')
      return
    }
  }
}

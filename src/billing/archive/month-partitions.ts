import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** Partitions exist for this month and for so many after it, so that months pass before a failure to create one matters. */
const MONTHS_AHEAD = 3

const TABLES = 'SELECT name FROM partitioned_tables()'
const CREATE = `
SELECT create_month_partitions((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '${MONTHS_AHEAD} months')::date, $1) AS created`

/**
 * Creates the monthly partitions that are missing; idempotent. A month without a partition fails no settlement: its rows
 * go to the default partition, and move when the partition is created. A failure is an alarm.
 */
export async function createMonthPartitions({
  postgres,
  logger,
}: {
  postgres: Postgres
  logger: Logger
}): Promise<void> {
  try {
    let created = 0
    // One table at a time: a transaction that locks the default partitions of two could deadlock with a settlement.
    for (const { name } of await postgres.$queryRawUnsafe<Array<{ name: string }>>(TABLES)) {
      const [row] = await postgres.$queryRawUnsafe<Array<{ created: number }>>(CREATE, name)
      if (!row?.created) continue
      created += row.created
      // Autovacuum analyzes partitions, and never the table that has them.
      await postgres.$executeRawUnsafe(`ANALYZE ${name}`)
    }
    logger.info({ created, alarmsOver: ['partitions-missing'] }, 'monthly partitions exist')
  } catch (error) {
    logger.error({ alarm: 'partitions-missing', err: error }, 'monthly partitions not created')
  }
}

import { Gauge, type Registry } from 'prom-client'
import { readPosition } from '../billing/analytics/analytics-tables.ts'
import { createAnalyticsUsage } from '../billing/analytics/analytics-usage.ts'
import type { UsageSeriesStore } from '../billing/reports/usage-series-store.ts'
import type { UsageStore } from '../billing/reports/usage-store.ts'
import type { Config } from '../config.ts'
import { createClickHouse } from '../platform/clickhouse.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { followReportsReplica } from '../platform/postgres/reports-replica.ts'
import { followLag } from '../platform/process/follow-lag.ts'
import type { Clients } from './clients.ts'

/** A customer who looks at usage expects the calls of a minute ago, from a copy too. */
const LAG_MAX_MS = 60_000
const READ_EVERY_MS = 5_000

const POOL = { poolSize: 3, connectTimeoutMs: 2_000 }

/** The gauge of how far a copy of the database is behind; NaN while it is away. */
const lagGauge = (name: string, help: string, registry: Registry) => {
  const gauge = new Gauge({ name, help, registers: [registry] })
  return (lagMs: number | null) => gauge.set(lagMs === null ? Number.NaN : lagMs / 1000)
}

/** The client of reports that may be outdated: of the replica of DATABASE_REPORTS_URL, or without one the primary's. */
export async function openReportsReplica(
  { databaseReportsUrl: databaseUrl }: Readonly<Config>,
  { connections, registry, logger, resources }: Clients,
  primary: Postgres,
): Promise<Postgres> {
  if (databaseUrl === '') return primary
  const { reads, stop } = await followReportsReplica({
    ...{ primary, lagMaxMs: LAG_MAX_MS, everyMs: READ_EVERY_MS, clock: Date.now, logger },
    replica: connections.postgres('shuntyard-api-replica', { ...POOL, databaseUrl }),
    onLag: lagGauge(
      'shuntyard_reports_replica_lag_seconds',
      'How far the replica for reports is behind; NaN while it is away and the primary is read.',
      registry,
    ),
  })
  resources.defer(stop)
  return reads
}

/** Where usage pages read from: ClickHouse if CLICKHOUSE_URL is set, it is up and not behind; otherwise PostgreSQL. */
export async function openAnalytics(
  { clickHouseUrl }: Readonly<Config>,
  { registry, logger, resources }: Clients,
  postgres: Postgres,
  stores: UsageStore & UsageSeriesStore,
): Promise<UsageStore & UsageSeriesStore> {
  if (clickHouseUrl === '') return stores
  const clickHouse = createClickHouse(clickHouseUrl)
  const { isUsable, stop } = await followLag({
    readLag: async () => Date.now() - (await readPosition(clickHouse)).completeAtMs,
    lagMaxMs: LAG_MAX_MS,
    everyMs: READ_EVERY_MS,
    onLag: lagGauge(
      'shuntyard_analytics_lag_seconds',
      'How far ClickHouse is behind; NaN while it is away and PostgreSQL is read.',
      registry,
    ),
    onAway: (error) =>
      logger.warn(
        { alarm: 'analytics-away', err: error },
        'ClickHouse not usable, reading usage from PostgreSQL',
      ),
    onBack: () => logger.info({ alarmsOver: ['analytics-away'] }, 'ClickHouse usable again'),
  })
  resources.defer(stop)
  const usage = createAnalyticsUsage(clickHouse, postgres)
  const orFrom =
    <Values extends unknown[], Result>(
      first: (...values: Values) => Promise<Result>,
      second: (...values: Values) => Promise<Result>,
    ) =>
    async (...values: Values): Promise<Result> => {
      if (!isUsable()) return second(...values)
      try {
        return await first(...values)
      } catch (error) {
        logger.warn({ err: error }, 'read of ClickHouse failed, repeating it in PostgreSQL')
        return second(...values)
      }
    }
  return { usage: orFrom(usage.usage, stores.usage), series: orFrom(usage.series, stores.series) }
}

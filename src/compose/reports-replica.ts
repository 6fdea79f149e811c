import { Gauge } from 'prom-client'
import type { Config } from '../config.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { followReportsReplica } from '../platform/postgres/reports-replica.ts'
import type { Clients } from './clients.ts'

const POOL = { poolSize: 3, connectTimeoutMs: 2_000 }
/** A customer who looks at usage expects the calls of a minute ago. */
const LAG_MAX_MS = 60_000
const COMPARE_EVERY_MS = 5_000

/** The client of reports that may be outdated: of the replica of DATABASE_REPORTS_URL, or without one the primary's. */
export async function openReportsReplica(
  { databaseReportsUrl: databaseUrl }: Readonly<Config>,
  { connections, registry, logger, resources }: Clients,
  primary: Postgres,
): Promise<Postgres> {
  if (databaseUrl === '') return primary
  const lag = new Gauge({
    name: 'switchyard_reports_replica_lag_seconds',
    help: 'How far the replica for reports is behind; NaN while it is away and the primary is read.',
    registers: [registry],
  })
  const { reads, stop } = await followReportsReplica({
    primary,
    replica: connections.postgres('switchyard-api-replica', { ...POOL, databaseUrl }),
    lagMaxMs: LAG_MAX_MS,
    everyMs: COMPARE_EVERY_MS,
    clock: Date.now,
    logger,
    onLag: (lagMs) => lag.set(lagMs === null ? Number.NaN : lagMs / 1000),
  })
  resources.defer(stop)
  return reads
}

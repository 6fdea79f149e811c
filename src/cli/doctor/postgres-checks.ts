import { StartError } from '../../core/kernel/errors.ts'
import { readProcesses } from '../../platform/observability/process-report.ts'
import { checkPooler } from '../../platform/postgres/check-pooler.ts'
import { MIGRATIONS, pendingMigrations } from '../../platform/postgres/migrate.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { type Check, clockFindings, findings, measureAheadMs, ok, warning, wrong } from './check.ts'

const VERSION_MIN = 16
/** Connections that each process opens at most, see docs/scaling.md. */
const CONNECTIONS = { api: 13, dispatch: 6, settlement: 8 }
const REPLICA_LAG_MAX_S = 60

const SETTINGS = `SELECT current_setting('server_version_num')::integer AS version,
  current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS connections,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
  current_setting('synchronous_commit') AS "synchronousCommit", current_setting('autovacuum') AS autovacuum,
  pg_is_in_recovery() AS "isReplica"`

interface Settings {
  version: number
  connections: number
  fsync: string
  fullPageWrites: string
  synchronousCommit: string
  autovacuum: string
  isReplica: boolean
}

/** Tables without a partition for the next month. */
const PARTITIONS_MISSING = `SELECT name FROM partitioned_tables() WHERE NOT EXISTS (
  SELECT FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid WHERE inhparent = name::regclass
    AND right(child.relname, 7) >= to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month', 'YYYY_MM')
    AND child.relname ~ '_\\d{4}_\\d{2}$')`

export const POSTGRES_CHECKS: Check[] = [
  {
    name: 'postgresql settings',
    async run({ postgres, redis, config }) {
      try {
        await checkPooler(config.databaseUrl)
      } catch (error) {
        if (!(error instanceof StartError)) throw error
        return [wrong(error.message, 'the processes do not start', 'see deploy/pgbouncer.ini')]
      }
      return settingFindings(await rowOf<Settings>(postgres, SETTINGS), await connectionsNeeded(redis))
    },
  },
  {
    name: 'postgresql migrations',
    async run({ config }) {
      const pending = await pendingMigrations({ databaseUrl: config.databaseUrl, directory: MIGRATIONS })
      return findings(
        [
          pending.length > 0 &&
            wrong(
              `${pending.length} migrations are pending, from ${pending[0]}`,
              'processes of this version fail where they use new tables or columns',
              'npm run migrate',
            ),
        ],
        'every migration is applied',
      )
    },
  },
  {
    name: 'postgresql partitions',
    async run({ postgres }) {
      const missing = await postgres.$queryRawUnsafe<Array<{ name: string }>>(PARTITIONS_MISSING)
      return findings(
        [
          missing.length > 0 &&
            warning(
              `no partition for the next month: ${missing.map(({ name }) => name).join(', ')}`,
              'rows of that month go to the default partition and are moved later',
              'start a settlement process: it creates partitions within a minute',
            ),
        ],
        'there are partitions for the next month',
      )
    },
  },
  {
    name: 'postgresql clock',
    async run({ postgres }) {
      const read = async () =>
        (
          await rowOf<{ ms: number }>(
            postgres,
            'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
          )
        ).ms
      // The first statement also opens the connection, which would count as a part of the difference.
      await read()
      return clockFindings('PostgreSQL', await measureAheadMs(read))
    },
  },
  {
    name: 'postgresql replica',
    async run({ replica }) {
      if (replica === null) return [ok('none is set: reports read the primary')]
      const { isReplica, lag } = await rowOf<{ isReplica: boolean; lag: number | null }>(
        replica,
        `SELECT pg_is_in_recovery() AS "isReplica",
           CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
           ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 END AS lag`,
      )
      return findings(
        [
          !isReplica &&
            warning(
              'DATABASE_REPORTS_URL leads to no replica',
              'reports load the primary',
              'correct DATABASE_REPORTS_URL',
            ),
          (lag ?? 0) > REPLICA_LAG_MAX_S &&
            warning(
              `the replica is ${Math.round(lag ?? 0)} s behind`,
              'reports load the primary',
              'SELECT * FROM pg_stat_replication',
            ),
        ],
        'the replica for reports follows',
      )
    },
  },
]

async function rowOf<Row>(postgres: Postgres, sql: string): Promise<Row> {
  const [row] = await postgres.$queryRawUnsafe<Row[]>(sql)
  if (!row) throw new Error('PostgreSQL returned no row')
  return row
}

/** Connections of the processes that run now; without any, of one process of each kind. */
async function connectionsNeeded(redis: Redis): Promise<number> {
  const processes = await readProcesses(redis)
  const all = Object.values(CONNECTIONS).reduce((sum, each) => sum + each)
  if (processes.length === 0) return all
  return processes.reduce((sum, { role }) => sum + (CONNECTIONS[role as keyof typeof CONNECTIONS] ?? all), 0)
}

function settingFindings(settings: Settings, needed: number) {
  const { version, connections, synchronousCommit, autovacuum } = settings
  const major = Math.floor(version / 10_000)
  const unsafe = [
    settings.fsync === 'off' && 'fsync',
    settings.fullPageWrites === 'off' && 'full_page_writes',
    synchronousCommit === 'off' && 'synchronous_commit',
  ].filter((each) => each !== false)
  const turnOn = (name: string) => `psql -c 'ALTER SYSTEM SET ${name} = on' -c 'SELECT pg_reload_conf()'`
  return findings(
    [
      major < VERSION_MIN &&
        wrong(
          `PostgreSQL is version ${major}`,
          'it is not supported',
          `upgrade it to ${VERSION_MIN} or newer`,
        ),
      settings.isReplica &&
        wrong('DATABASE_URL leads to a replica', 'nothing is settled', 'let DATABASE_URL name the primary'),
      connections < needed &&
        warning(
          `PostgreSQL allows ${connections} connections, and the processes use up to ${needed}`,
          'settlements and reports wait or fail under load',
          `psql -c 'ALTER SYSTEM SET max_connections = ${2 * needed}', then restart PostgreSQL; or PgBouncer, see docs/scaling.md`,
        ),
      ...unsafe.map((name) =>
        warning(`${name} of PostgreSQL is off`, 'a crash can lose settled calls and payments', turnOn(name)),
      ),
      autovacuum === 'off' &&
        warning(
          'autovacuum of PostgreSQL is off',
          'tables grow and statements become slow',
          turnOn('autovacuum'),
        ),
    ],
    `PostgreSQL is version ${major}; ${connections} connections, of which the processes use up to ${needed}`,
  )
}

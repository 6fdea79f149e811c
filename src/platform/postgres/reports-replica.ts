import type { Logger } from '../observability/logger.ts'
import { followLag, type LagOptions } from '../process/follow-lag.ts'
import { isPostgresFailure, type Postgres, slownessOf } from './postgres.ts'

export interface ReportsReplicaOptions extends Pick<LagOptions, 'lagMaxMs' | 'everyMs' | 'onLag'> {
  primary: Postgres
  replica: Postgres
  clock: () => number
  logger: Logger
}

/** Where the primary's log ended at a time. */
interface LogPosition {
  position: bigint
  atMs: number
}

const PRIMARY = 'SELECT pg_current_wal_lsn()::text AS position'
const REPLICA = 'SELECT pg_is_in_recovery() AS "isReplica", pg_last_wal_replay_lsn()::text AS position'
const POSITIONS_MAX = 100

/**
 * A client for reading that uses the replica while it is up and at most `lagMaxMs` behind the primary, and otherwise the
 * primary. It starts with the primary. A read that fails at the replica is repeated at the primary, unless it took too
 * long: the primary must not take over reports that a replica is too slow for. For reads that may be outdated, so never for
 * decisions about money.
 *
 * The lag is the age of the newest position of the primary's log that the replica has applied. So it also grows when the
 * replica is cut off, and not when nothing is written.
 */
export async function followReportsReplica(options: ReportsReplicaOptions) {
  const { primary, replica, clock, logger } = options
  let positions: LogPosition[] = []

  const readLag = async (): Promise<number> => {
    const atMs = clock()
    const [ofPrimary] = await primary.$queryRawUnsafe<Array<{ position: string }>>(PRIMARY)
    if (!ofPrimary) throw new Error('PostgreSQL returned no position of its log')
    positions.push({ position: logPosition(ofPrimary.position), atMs })
    const [row] =
      await replica.$queryRawUnsafe<Array<{ isReplica: boolean; position: string | null }>>(REPLICA)
    if (!row?.isReplica) throw new Error('the server of DATABASE_REPORTS_URL is not a replica')
    const applied = row.position === null ? 0n : logPosition(row.position)
    const newest = positions.findLastIndex(({ position }) => position <= applied)
    const since = positions[Math.max(newest, 0)]!.atMs
    // The oldest stays when none is applied: the lag grows from there.
    positions = positions.slice(Math.max(newest, 0)).slice(0, POSITIONS_MAX)
    return newest === positions.length - 1 ? 0 : clock() - since
  }

  const { isUsable, stop } = await followLag({
    readLag,
    ...options,
    onAway: (error) =>
      logger.warn(
        { alarm: 'reports-replica-away', err: error },
        'replica for reports not usable, reading from the primary',
      ),
    onBack: () => logger.info({ alarmsOver: ['reports-replica-away'] }, 'replica for reports usable again'),
  })

  /** The object at a path below the client, whose functions run at the replica or the primary. */
  const readsAt = <Target extends object>(at: (client: Postgres) => Target): Target =>
    new Proxy({} as Target, {
      get(_, name) {
        const member: unknown = Reflect.get(at(primary), name)
        if (typeof member === 'object' && member !== null)
          return readsAt((client) => Reflect.get(at(client), name) as object)
        if (typeof member !== 'function') return member
        return async (...values: unknown[]) => {
          const run = (client: Postgres): Promise<unknown> => {
            const target = at(client)
            return Reflect.apply(Reflect.get(target, name) as never, target, values)
          }
          if (!isUsable()) return run(primary)
          try {
            return await run(replica)
          } catch (error) {
            if (!isPostgresFailure(error) || slownessOf(error) !== null) throw error
            logger.warn({ err: error }, 'read of the replica failed, repeating it at the primary')
            return run(primary)
          }
        }
      },
    })
  return { reads: readsAt((client) => client), stop }
}

/** `16/B374D848` as a number. */
function logPosition(text: string): bigint {
  const [high = '', low = ''] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

import type { Severity } from '../core/alarms/severity.ts'
import { newId } from '../core/kernel/ids.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { AlarmDestination as DestinationRow } from '../platform/prisma-client/client.ts'
import type { Sealer } from '../platform/sealing.ts'

export type AlarmDestinationKind = 'email' | 'slack' | 'pagerduty'

/** The target of alarms: an email `address`, the `url` of a webhook, or the routing key at PagerDuty's `url`. */
export type DestinationTarget =
  | { kind: 'email'; address: string }
  | { kind: 'slack'; url: string }
  | { kind: 'pagerduty'; url: string; routingKey: string }

/** A destination without its target. `waiting`: number of unsent notices. */
export type AlarmDestination = Omit<
  DestinationRow,
  'targetSealed' | 'leasedUntil' | 'attempts' | 'kind' | 'minimumSeverity'
> & {
  kind: AlarmDestinationKind
  minimumSeverity: Severity
  waiting: number
}

export interface DestinationChange {
  name?: string
  minimumSeverity?: Severity
  enabled?: boolean
}

export type AlarmDestinationStore = ReturnType<typeof createAlarmDestinationStore>

/** The purpose of the sealer of targets; their context is the destination's id. */
export const DESTINATION_PURPOSE = 'alarm-destination'

export const DESTINATIONS_MAX = 50

const WAITING = { sentAt: null, givenUpAt: null }
const COUNTED = { _count: { select: { notices: { where: WAITING } } } }

export function createAlarmDestinationStore(postgres: Postgres, sealer: Pick<Sealer, 'seal'>) {
  const find = async (id: string): Promise<AlarmDestination | null> => {
    const row = await postgres.alarmDestination.findUnique({ where: { id }, include: COUNTED })
    return row && toDestination(row)
  }
  return {
    find,

    async list(): Promise<AlarmDestination[]> {
      const rows = await postgres.alarmDestination.findMany({ include: COUNTED, orderBy: { id: 'asc' } })
      return rows.map(toDestination)
    },

    count: (): Promise<number> => postgres.alarmDestination.count(),

    async create({
      id = newId('adest'),
      target,
      ...given
    }: {
      id?: string
      name: string
      target: DestinationTarget
      targetHint: string
      minimumSeverity: Severity
    }): Promise<AlarmDestination> {
      const row = await postgres.alarmDestination.create({
        data: { id, ...given, kind: target.kind, targetSealed: sealer.seal(JSON.stringify(target), id) },
        include: COUNTED,
      })
      return toDestination(row)
    },

    /** Null if the destination does not exist. */
    async change(id: string, change: DestinationChange): Promise<AlarmDestination | null> {
      await postgres.alarmDestination.updateMany({ where: { id }, data: change })
      if (change.enabled === false) await postgres.alarmNotice.updateMany(giveUp(id))
      return find(id)
    },

    /** Also removes its waiting notices. */
    async remove(id: string): Promise<void> {
      await postgres.alarmDestination.deleteMany({ where: { id } })
    },

    /** Sends a test at once, regardless of earlier failures. */
    async addTest(id: string): Promise<void> {
      await postgres.$transaction([
        postgres.alarmNotice.create({ data: { destinationId: id, event: 'test' } }),
        postgres.alarmDestination.update({ where: { id }, data: { nextAttemptAt: null, attempts: 0 } }),
      ])
    },
  }
}

const giveUp = (destinationId: string) => ({
  where: { destinationId, ...WAITING },
  data: { givenUpAt: new Date() },
})

/** `kind` and `minimumSeverity` are constrained by the table. */
function toDestination({
  targetSealed: _,
  leasedUntil: __,
  attempts: ___,
  _count,
  ...row
}: DestinationRow & { _count: { notices: number } }): AlarmDestination {
  return {
    ...row,
    kind: row.kind as AlarmDestinationKind,
    minimumSeverity: row.minimumSeverity as Severity,
    waiting: _count.notices,
  }
}

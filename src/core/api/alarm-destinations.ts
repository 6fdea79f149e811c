import { type Static, Type } from 'typebox'
import { SEVERITIES } from '../alarms/severity.ts'
import { CLOSED, nullable } from './request-fields.ts'
import { IsoTime } from './shared.ts'

export const Severity = Type.Enum([...SEVERITIES])

export const DestinationKind = Type.Enum(['email', 'slack', 'pagerduty'])
export type DestinationKind = Static<typeof DestinationKind>

/** GET /admin/api/alarm-destinations: `List<AlarmDestinationView>`. */
export const AlarmDestinationView = Type.Object({
  id: Type.String(),
  kind: DestinationKind,
  name: Type.String(),
  /** The email address; for a webhook or routing key, its host and last characters. */
  target: Type.String(),
  /** Less severe alarms are not sent there. */
  minimum_severity: Severity,
  enabled: Type.Boolean(),
  created_at: IsoTime,
  /** Number of alarms that wait for delivery. */
  waiting: Type.Number(),
  /** Time of the last accepted message. */
  delivered_at: nullable(IsoTime),
  /** Start and reason of the current failure; null: the last attempt succeeded. */
  failing_since: nullable(IsoTime),
  error: nullable(Type.String()),
  next_attempt_at: nullable(IsoTime),
})
export type AlarmDestinationView = Static<typeof AlarmDestinationView>

const Name = Type.String({ minLength: 1, maxLength: 80, pattern: '^[^\\p{Cc}]+$' })
const Target = Type.String({ minLength: 1, maxLength: 2_048 })

/** POST /admin/api/alarm-destinations */
export const NewAlarmDestination = Type.Object(
  {
    kind: DestinationKind,
    name: Name,
    /** An email address, the URL of an incoming webhook, or a PagerDuty routing key. */
    target: Target,
    /** The URL of PagerDuty's Events API outside the US service region. */
    url: Type.Optional(Target),
    minimum_severity: Severity,
  },
  CLOSED,
)
export type NewAlarmDestination = Static<typeof NewAlarmDestination>

/** PATCH /admin/api/alarm-destinations/:id. Disabling a destination drops its waiting alarms. */
export const AlarmDestinationChange = Type.Object(
  {
    name: Type.Optional(Name),
    minimum_severity: Type.Optional(Severity),
    enabled: Type.Optional(Type.Boolean()),
  },
  CLOSED,
)

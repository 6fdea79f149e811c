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
  /** The address of mail; of a webhook or routing key its host and last characters. */
  target: Type.String(),
  /** Less severe alarms are not sent there. */
  minimum_severity: Severity,
  enabled: Type.Boolean(),
  created_at: IsoTime,
  /** What is still to be told there. */
  waiting: Type.Number(),
  /** The last message that it accepted. */
  delivered_at: nullable(IsoTime),
  /** Since when no attempt succeeded, and why the last did not; null: none failed since the last success. */
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
    /** An address of mail, the URL of an incoming webhook, or a routing key of PagerDuty. */
    target: Target,
    /** The address of PagerDuty's Events API where it is not that of the US service region. */
    url: Type.Optional(Target),
    minimum_severity: Severity,
  },
  CLOSED,
)
export type NewAlarmDestination = Static<typeof NewAlarmDestination>

/** PATCH /admin/api/alarm-destinations/:id. What waits for a destination that is disabled is given up. */
export const AlarmDestinationChange = Type.Object(
  {
    name: Type.Optional(Name),
    minimum_severity: Type.Optional(Severity),
    enabled: Type.Optional(Type.Boolean()),
  },
  CLOSED,
)
export type AlarmDestinationChange = Static<typeof AlarmDestinationChange>

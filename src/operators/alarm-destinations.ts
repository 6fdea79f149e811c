import type { Severity } from '../core/alarms/severity.ts'
import { isPlainEmail, normalizeEmail } from '../core/kernel/email-address.ts'
import { ApiError, invalid } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import { checkWebhookUrl } from '../platform/network/public-address.ts'
import {
  type AlarmDestination,
  type AlarmDestinationKind,
  type AlarmDestinationStore,
  DESTINATIONS_MAX,
  type DestinationChange,
  type DestinationTarget,
} from './alarm-destination-store.ts'
import type { Operator, RunAudited } from './audit-log.ts'

interface NewDestination {
  kind: AlarmDestinationKind
  name: string
  /** An email address, the URL of a webhook, or a routing key. */
  target: string
  /** URL of PagerDuty's Events API. */
  url?: string
  minimumSeverity: Severity
}

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue'
const ROUTING_KEY = /^[A-Za-z0-9]{32}$/

export type AlarmDestinations = ReturnType<typeof createAlarmDestinations>

/** Operators' changes of alarm destinations, recorded in the audit log without secrets. Throws ApiError. */
export function createAlarmDestinations(options: {
  store: AlarmDestinationStore
  auditedAction: RunAudited
  /** Allows private addresses, any port and plain http. */
  allowPrivate: boolean
  hasMail: boolean
}) {
  const { store, auditedAction, allowPrivate, hasMail } = options

  const urlOf = (text: string, field: string): string => {
    const check = checkWebhookUrl(text, allowPrivate)
    if (check.kind === 'refused') throw invalid(field, `The URL ${check.reason}.`)
    return check.url.href
  }

  const targetOf = ({ kind, target, url }: NewDestination): DestinationTarget => {
    if (kind !== 'pagerduty' && url !== undefined) throw invalid('url', '`url` is for PagerDuty only.')
    switch (kind) {
      case 'email': {
        const address = normalizeEmail(target)
        if (!hasMail) throw invalid('kind', 'Mail is not configured; set SMTP_URL.')
        if (!isPlainEmail(address))
          throw invalid('target', 'Enter a valid email address, for example ann@example.com.')
        return { kind, address }
      }
      case 'slack':
        return { kind, url: urlOf(target, 'target') }
      case 'pagerduty':
        if (!ROUTING_KEY.test(target))
          throw invalid('target', 'Enter a routing key of 32 letters and digits.')
        return { kind, url: urlOf(url ?? PAGERDUTY_URL, 'url'), routingKey: target }
      default:
        return kind satisfies never
    }
  }

  const existing = async (id: string): Promise<AlarmDestination> => {
    const found = await store.find(id)
    if (!found) throw new ApiError('not_found', 'There is no such destination.')
    return found
  }

  return {
    list: store.list,

    async create(operator: Operator, given: NewDestination): Promise<AlarmDestination> {
      const target = targetOf(given)
      const id = newId('adest')
      const { name, minimumSeverity } = given
      const targetHint = hintOf(target)
      const details = { kind: target.kind, name, target: targetHint, minimum_severity: minimumSeverity }
      return auditedAction(
        operator,
        { action: 'alarm_destination.create', target: id, details },
        async () => {
          if ((await store.count()) >= DESTINATIONS_MAX)
            throw new ApiError(
              'invalid_request',
              `At most ${DESTINATIONS_MAX} destinations are allowed. Remove one first.`,
            )
          return store.create({ id, name, target, targetHint, minimumSeverity })
        },
      )
    },

    async change(operator: Operator, id: string, change: DestinationChange): Promise<AlarmDestination> {
      await existing(id)
      const { name, minimumSeverity, enabled } = change
      const details = {
        ...(name !== undefined && { name }),
        ...(minimumSeverity !== undefined && { minimum_severity: minimumSeverity }),
        ...(enabled !== undefined && { enabled }),
      }
      const action = { action: 'alarm_destination.change', target: id, details }
      return auditedAction(operator, action, async () => (await store.change(id, change)) ?? existing(id))
    },

    async remove(operator: Operator, id: string): Promise<AlarmDestination> {
      const found = await existing(id)
      const details = { kind: found.kind, name: found.name, target: found.targetHint }
      await auditedAction(operator, { action: 'alarm_destination.delete', target: id, details }, () =>
        store.remove(id),
      )
      return found
    },

    /** Queues a test message; the destination shows its result shortly afterwards. */
    async sendTest(operator: Operator, id: string): Promise<AlarmDestination> {
      const found = await existing(id)
      if (!found.enabled) throw new ApiError('invalid_request', 'Enable the destination first.')
      await auditedAction(operator, { action: 'alarm_destination.test', target: id, details: {} }, () =>
        store.addTest(id),
      )
      return existing(id)
    },
  }
}

/** The part of a target that may be shown and recorded. */
function hintOf(target: DestinationTarget): string {
  switch (target.kind) {
    case 'email':
      return target.address
    case 'slack':
      return `${new URL(target.url).host}/…${target.url.slice(-4)}`
    case 'pagerduty':
      return `${new URL(target.url).host}, key …${target.routingKey.slice(-4)}`
    default:
      return target satisfies never
  }
}

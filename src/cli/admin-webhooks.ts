import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '../core/kernel/errors.ts'
import { isoTime } from '../core/kernel/time.ts'
import { EVENT_TYPES, type SubscribedEventType } from '../core/webhooks/event.ts'
import {
  DELIVERIES_SHOWN,
  deliveryView,
  endpointView,
  ROTATION_OVERLAP_MS,
} from '../http/account/webhook-routes.ts'
import { checkWebhookUrl } from '../platform/network/public-address.ts'
import type { DeliveryEntry } from '../webhooks/delivery-log.ts'
import type { WebhookEndpoint } from '../webhooks/endpoint-store.ts'
import { type AdminCommands, type AdminContext, accountIdOf } from './admin-command.ts'
import { lines, list, named, one, UsageError, withSecret } from './run-command.ts'

const TEST_WAIT_MS = 20_000
const POLL_MS = 200
const SECRET_NOTE =
  'This is the only time the signing secret is shown. Keep it where only your server reads it.'

/** Runs an audited action on the named endpoint. `change` results in null or false if it does not exist. */
async function changed<T>(
  { auditLog, operator, input }: AdminContext,
  verb: string,
  change: (endpointId: string) => Promise<T | null | false>,
): Promise<{ id: string; result: T }> {
  const id = input.subject('name the endpoint: its id, as in webhook list')
  const action = { action: `webhook.${verb}`, target: id, details: {} }
  return auditLog.auditedAction(operator, action, async () => {
    const result = await change(id)
    if (result === null || result === false)
      throw new ApiError('not_found', `There is no webhook endpoint ${id}.`)
    return { id, result }
  })
}

export const webhookCommands: AdminCommands = {
  async 'webhook create'({ accountManagement, endpoints, auditLog, operator, input, config }) {
    const account = input.required('account', 'needs the id or email of an account')
    const url = input.required('url', 'needs the URL that events are sent to')
    const check = checkWebhookUrl(url, config.webhooksAllowPrivate)
    if (check.kind === 'refused') throw new UsageError(`--url ${check.reason}`)
    const types = readEventTypes(input.option('events'))
    const { id } = await accountManagement.find(account)
    const { href } = check.url
    const action = { action: 'webhook.create', target: id, details: { url: href, events: types.join(',') } }
    const { endpoint, secret } = await auditLog.auditedAction(operator, action, () =>
      endpoints.create(id, href, types),
    )
    return withSecret('secret', secret, SECRET_NOTE, webhook(endpoint))
  },

  async 'webhook list'(context) {
    const found = await context.endpoints.list(await accountIdOf(context, context.input.option('account')))
    return list('webhooks', found.map(webhook), 'There are no webhook endpoints.')
  },

  async 'webhook delete'(context) {
    const { id } = await changed(context, 'delete', context.endpoints.remove)
    return one({ webhook_id: id, deleted: true })
  },

  async 'webhook enable'(context) {
    return one(webhook((await changed(context, 'enable', context.endpoints.enable)).result))
  },

  async 'webhook rotate-secret'(context) {
    const { id, result: secret } = await changed(context, 'rotate-secret', (endpointId) =>
      context.endpoints.rotateSecret(endpointId, ROTATION_OVERLAP_MS),
    )
    const until = isoTime(Date.now() + ROTATION_OVERLAP_MS)
    return withSecret('secret', secret, SECRET_NOTE, { webhook_id: id, old_secret_signs_until: until })
  },

  /** Sends an event through the worker, waits for the first attempt, and fails when that did. */
  async 'webhook test'(context) {
    const { result: eventId } = await changed(context, 'test', context.endpoints.test)
    const deadline = Date.now() + TEST_WAIT_MS
    for (;;) {
      const [found] = await context.deliveries({ eventId, limit: 1 })
      if (found?.attempts.length)
        return { data: delivery(found), text: describe(found), failed: found.state !== 'delivered' }
      if (Date.now() >= deadline)
        throw new Error(
          'not delivered yet; check that a settlement worker is running and the endpoint is enabled',
        )
      await delay(POLL_MS)
    }
  },

  async 'webhook deliveries'(context) {
    const { input, deliveries } = context
    const [endpointId] = input.arguments
    const accountId = await accountIdOf(context, input.option('account'))
    const found = await deliveries({
      ...(endpointId !== undefined && { endpointId }),
      ...(accountId !== undefined && { accountId }),
      limit: input.count('limit') ?? DELIVERIES_SHOWN,
    })
    const text = found.map(describe).join('\n\n')
    return { data: { deliveries: found.map(delivery) }, text: text || 'There are no deliveries.' }
  },
}

/** Comma-separated event types; absent: all. */
function readEventTypes(text: string | undefined): SubscribedEventType[] {
  if (text === undefined) return []
  return text.split(',').map((name) => {
    const type = EVENT_TYPES.find((known) => known === name.trim())
    if (!type) throw new UsageError(`--events must be a comma-separated list of ${EVENT_TYPES.join(', ')}`)
    return type
  })
}

function webhook(endpoint: WebhookEndpoint) {
  const { event_types, ...view } = endpointView(endpoint)
  return {
    ...named('webhook_id', view),
    account_id: endpoint.accountId,
    events: event_types.length === 0 ? 'all' : event_types.join(','),
  }
}

const delivery = (entry: DeliveryEntry) => ({
  ...named('delivery_id', deliveryView(entry)),
  account_id: entry.accountId,
  webhook_id: entry.endpointId,
})

function describe(entry: DeliveryEntry): string {
  const { attempts: _, ...view } = delivery(entry)
  const log = entry.attempts.map(
    ({ at, status_code, error, duration_ms }) =>
      `  ${at}  ${error ?? `HTTP ${status_code}`} after ${duration_ms} ms`,
  )
  return [lines(view), ...log].join('\n')
}

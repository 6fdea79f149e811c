import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createAccountStore } from '../accounts/account-store.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import type { Config } from '../config.ts'
import { EVENT_TYPES, type SubscribedEventType } from '../core/operations/event.ts'
import { checkWebhookUrl } from '../platform/network/webhook-url.ts'
import { createSealer } from '../platform/sealing.ts'
import { createDeliveryLog, type DeliveryEntry } from '../webhooks/delivery-log.ts'
import {
  createEndpointStore,
  WEBHOOK_SECRET_PURPOSE,
  type WebhookEndpoint,
} from '../webhooks/endpoint-store.ts'
import type { CommandClients } from './clients.ts'
import { readCount } from './read-options.ts'
import { type CommandOutput, UsageError } from './run-command.ts'
import { lines } from './views.ts'

export interface WebhookArguments {
  /** The endpoint's id. */
  endpoint: string | undefined
  /** The account's id or email. */
  account: string | undefined
  url: string | undefined
  /** Types with commas between them; all without it. */
  events: string | undefined
  limit: string | undefined
}

/** A rotated secret goes on signing beside the new one for a day. */
const ROTATION_OVERLAP_MS = 86_400_000
const DELIVERIES_SHOWN = 50
const TEST_WAIT_MS = 20_000
const LOOK_AGAIN_MS = 200

/** `admin webhook create|list|delete|enable|rotate-secret|test|deliveries`. */
export function webhookCommands(clients: CommandClients, config: Config) {
  const sealer = createSealer(config.masterKeys, WEBHOOK_SECRET_PURPOSE)
  const endpoints = createEndpointStore(clients.postgres, sealer, randomBytes)
  const readDeliveries = createDeliveryLog(clients.postgres)
  const accounts = createAccountStore(clients.postgres, postLedger)

  const findAccountId = async (idOrEmail: string): Promise<string> => {
    const account = await accounts.find(idOrEmail)
    if (!account) throw new Error(`there is no account ${idOrEmail}`)
    return account.id
  }
  const named = (endpoint: string | undefined): string => {
    if (!endpoint) throw new UsageError('name the endpoint: its id, as in webhook list')
    return endpoint
  }
  const unknown = (endpoint: string) => new Error(`there is no webhook endpoint ${endpoint}`)

  return {
    async create({ account, url, events }: WebhookArguments): Promise<CommandOutput> {
      if (!account) throw new UsageError('--account needs the id or email of an account')
      if (!url) throw new UsageError('--url needs the address that events are sent to')
      const check = checkWebhookUrl(url, config.webhooksAllowPrivate)
      if (check.kind === 'refused') throw new UsageError(`--url ${check.reason}`)
      const { endpoint, secret } = await endpoints.create(
        await findAccountId(account),
        check.url.href,
        readEventTypes(events),
      )
      return withSecret(endpointView(endpoint), secret)
    },

    async list({ account }: WebhookArguments): Promise<CommandOutput> {
      const found = await endpoints.list(account === undefined ? undefined : await findAccountId(account))
      const views = found.map(endpointView)
      const text = views.map((view) => lines(view)).join('\n\n')
      return { data: { webhooks: views }, text: text || 'There are no webhook endpoints.' }
    },

    async delete({ endpoint }: WebhookArguments): Promise<CommandOutput> {
      const id = named(endpoint)
      if (!(await endpoints.remove(id))) throw unknown(id)
      return say({ webhook_id: id, deleted: true })
    },

    async enable({ endpoint }: WebhookArguments): Promise<CommandOutput> {
      const id = named(endpoint)
      const enabled = await endpoints.enable(id)
      if (!enabled) throw unknown(id)
      return say(endpointView(enabled))
    },

    async rotateSecret({ endpoint }: WebhookArguments): Promise<CommandOutput> {
      const id = named(endpoint)
      const secret = await endpoints.rotateSecret(id, ROTATION_OVERLAP_MS)
      if (secret === null) throw unknown(id)
      const until = new Date(Date.now() + ROTATION_OVERLAP_MS).toISOString()
      return withSecret({ webhook_id: id, old_secret_signs_until: until }, secret)
    },

    /** The real way, through the worker; waits for the first attempt and fails when it did. */
    async test({ endpoint }: WebhookArguments): Promise<CommandOutput> {
      const id = named(endpoint)
      const eventId = await endpoints.test(id)
      if (eventId === null) throw unknown(id)
      const deadline = Date.now() + TEST_WAIT_MS
      let [delivery] = await readDeliveries({ eventId, limit: 1 })
      while (!delivery?.attempts.length && Date.now() < deadline) {
        await delay(LOOK_AGAIN_MS)
        ;[delivery] = await readDeliveries({ eventId, limit: 1 })
      }
      if (!delivery?.attempts.length)
        throw new Error('not delivered yet: is a settlement worker running, and the endpoint enabled?')
      const view = deliveryView(delivery)
      return { data: view, text: describeDelivery(delivery), failed: delivery.state !== 'delivered' }
    },

    async deliveries({ endpoint, account, limit }: WebhookArguments): Promise<CommandOutput> {
      const found = await readDeliveries({
        ...(endpoint !== undefined && { endpointId: endpoint }),
        ...(account !== undefined && { accountId: await findAccountId(account) }),
        limit: readCount('--limit', limit) ?? DELIVERIES_SHOWN,
      })
      const text = found.map(describeDelivery).join('\n\n')
      return { data: { deliveries: found.map(deliveryView) }, text: text || 'Nothing was delivered.' }
    },
  }
}

function readEventTypes(text: string | undefined): SubscribedEventType[] {
  if (text === undefined) return []
  return text.split(',').map((name) => {
    const type = EVENT_TYPES.find((known) => known === name.trim())
    if (!type) throw new UsageError(`--events takes types of ${EVENT_TYPES.join(', ')}, with commas between`)
    return type
  })
}

const endpointView = (endpoint: WebhookEndpoint) => ({
  webhook_id: endpoint.id,
  account_id: endpoint.accountId,
  url: endpoint.url,
  events: endpoint.eventTypes.length === 0 ? 'all' : endpoint.eventTypes.join(','),
  enabled: endpoint.enabled,
  disabled_reason: endpoint.disabledReason,
  failing_since: endpoint.failingSince?.toISOString() ?? null,
  created_at: endpoint.createdAt.toISOString(),
})

const deliveryView = (delivery: DeliveryEntry) => ({
  delivery_id: delivery.id,
  event_id: delivery.eventId,
  type: delivery.type,
  account_id: delivery.accountId,
  webhook_id: delivery.endpointId,
  state: delivery.state,
  next_attempt_at: delivery.nextAttemptAt?.toISOString() ?? null,
  created_at: delivery.createdAt.toISOString(),
  attempts: delivery.attempts,
})

function describeDelivery(delivery: DeliveryEntry): string {
  const { attempts, ...view } = deliveryView(delivery)
  const log = attempts.map(
    ({ at, status_code, error, duration_ms }) =>
      `  ${at}  ${error ?? `HTTP ${status_code}`} after ${duration_ms} ms`,
  )
  return [lines(view), ...log].join('\n')
}

const say = (view: Record<string, unknown>): CommandOutput => ({ data: view, text: lines(view) })

function withSecret(view: Record<string, unknown>, secret: string): CommandOutput {
  const text = `${secret}\n\nThis is the only time the signing secret is shown. Keep it where only your server reads it.\n\n${lines(view)}`
  return { data: { ...view, secret }, text }
}

import { createHash } from 'node:crypto'

/** Event types of webhooks. `webhook.test` is sent only on request, to one endpoint. */
export const EVENT_TYPES = [
  'balance.low',
  'balance.exhausted',
  'topup.settled',
  'topup.failed',
  'topup.auto_paused',
  'key.revoked',
  'key.limit_reached',
  'member.limit_reached',
  'account.limit_reached',
  'budget.limit_reached',
  'budget.warning',
  'provider_key.failing',
] as const
export type SubscribedEventType = (typeof EVENT_TYPES)[number]
/** An account's spend of a week. No webhook gets it; see src/accounts/self-service/weekly-spend-mails.ts. */
export type MailOnlyEventType = 'spend.weekly'
export type EventType = SubscribedEventType | MailOnlyEventType | 'webhook.test'

/** The data of an event: strings, amounts as decimal strings of USD, no floats. Sent unchanged. */
export type EventData = Record<string, string | number | boolean | null>

/** An event in the outbox. Its id is the `webhook-id` of all its deliveries. */
export interface OutboxEvent {
  id: string
  type: EventType
  accountId: string
  data: EventData
  createdAt: Date
}

/** Hex digits of the hash in an id: 128 bits. */
const ID_DIGITS = 32

/**
 * The id of the event caused by `cause`: the same cause gives the same id, so recording is
 * idempotent. The database triggers compute ids the same way.
 */
export function eventIdOf(type: EventType, cause: string): string {
  return `evt_${createHash('sha256').update(`${type}:${cause}`).digest('hex').slice(0, ID_DIGITS)}`
}

/** The body of every delivery of an event, identical in all retries. */
export function eventBody({ id, type, accountId, data, createdAt }: OutboxEvent): string {
  return JSON.stringify({
    id,
    type,
    timestamp: createdAt.toISOString(),
    data: { account_id: accountId, ...data },
  })
}

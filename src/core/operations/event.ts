import { createHash } from 'node:crypto'

/** What an account can be told about by webhook. `webhook.test` is sent on request only, to one endpoint. */
export const EVENT_TYPES = [
  'balance.low',
  'balance.exhausted',
  'topup.settled',
  'topup.failed',
  'key.revoked',
  'key.limit_reached',
  'provider_key.failing',
] as const
export type SubscribedEventType = (typeof EVENT_TYPES)[number]
export type EventType = SubscribedEventType | 'webhook.test'

/** The facts of an event: strings, amounts as decimal strings of USD, no floats. Sent as they are. */
export type EventData = Record<string, string | number | boolean | null>

/** An event as the outbox keeps it. Its id is the `webhook-id` of every delivery of it. */
export interface OutboxEvent {
  id: string
  type: EventType
  accountId: string
  data: EventData
  createdAt: Date
}

/** How many hex digits of the hash make an id: 128 bits. */
const ID_DIGITS = 32

/**
 * The id of the event that `cause` brought about: the same cause gives the same id, so recording it again
 * is recording it once. The database's own triggers compute ids the same way.
 */
export function eventIdOf(type: EventType, cause: string): string {
  return `evt_${createHash('sha256').update(`${type}:${cause}`).digest('hex').slice(0, ID_DIGITS)}`
}

/** The body of every delivery of an event, the same byte for byte over all retries. */
export function eventBody({ id, type, accountId, data, createdAt }: OutboxEvent): string {
  return JSON.stringify({
    id,
    type,
    timestamp: createdAt.toISOString(),
    data: { account_id: accountId, ...data },
  })
}

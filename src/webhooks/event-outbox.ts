import { newId } from '../core/kernel/ids.ts'
import { type EventData, type EventType, eventIdOf } from '../core/webhooks/event.ts'
import type { PostgresTransaction } from '../platform/postgres/postgres.ts'

export interface NewEvent {
  type: EventType
  accountId: string
  /**
   * The cause, such as a top-up's id: recording the same type and cause again changes nothing. Without one, every call
   * records a new event.
   */
  cause?: string
  data: EventData
  /** Delivered to this endpoint only, regardless of its subscriptions. */
  endpointId?: string
}

const RECORD = `
INSERT INTO events (id, type, account_id, endpoint_id, data) VALUES ($1, $2, $3, $4, $5::jsonb)
ON CONFLICT (id) DO NOTHING`

/**
 * Records an event in the transaction of the change it reports, so that neither exists without the other; deliveries
 * follow asynchronously. Returns the event's id (`evt_…`).
 */
export async function recordEvent(
  transaction: PostgresTransaction,
  { type, accountId, cause, data, endpointId }: NewEvent,
): Promise<string> {
  const id = cause === undefined ? newId('evt') : eventIdOf(type, cause)
  await transaction.$executeRawUnsafe(RECORD, id, type, accountId, endpointId ?? null, JSON.stringify(data))
  return id
}

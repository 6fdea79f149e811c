import type { Postgres } from '../platform/postgres/postgres.ts'

/** One attempt of a delivery. */
export interface AttemptEntry {
  at: string
  status_code: number | null
  error: string | null
  duration_ms: number
}

/** A delivery for operators. */
export interface DeliveryEntry {
  id: string
  eventId: string
  type: string
  accountId: string
  endpointId: string
  state: 'pending' | 'delivered' | 'failed'
  attempts: AttemptEntry[]
  nextAttemptAt: Date | null
  createdAt: Date
}

/** Filters of deliveries; newest first, at most `limit`. */
export interface DeliveryFilter {
  accountId?: string
  endpointId?: string
  eventId?: string
  limit: number
}

export type ReadDeliveries = (filter: DeliveryFilter) => Promise<DeliveryEntry[]>

export function createDeliveryLog(postgres: Postgres): ReadDeliveries {
  return async ({ accountId, endpointId, eventId, limit }) => {
    const rows = await postgres.webhookDelivery.findMany({
      where: {
        ...(endpointId !== undefined && { endpointId }),
        ...(eventId !== undefined && { eventId }),
        ...(accountId !== undefined && { event: { accountId } }),
      },
      include: { event: { select: { type: true, accountId: true } } },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: limit,
    })
    return rows.map(({ event, attemptLog, ...row }) => ({
      id: row.id,
      eventId: row.eventId,
      type: event.type,
      accountId: event.accountId,
      endpointId: row.endpointId,
      state: row.state,
      attempts: attemptLog as unknown as AttemptEntry[],
      nextAttemptAt: row.nextAttemptAt,
      createdAt: row.createdAt,
    }))
  }
}

/** Schedules one more attempt of a failed delivery; null if the account has no such delivery to an enabled endpoint. */
export type RetryDelivery = (deliveryId: string, accountId: string) => Promise<DeliveryEntry | null>

const RETRY = `
UPDATE webhook_deliveries SET state = 'pending', next_attempt_at = now(), queued_until = NULL, finished_at = NULL
WHERE id = $1 AND state = 'failed'
  AND endpoint_id IN (SELECT id FROM webhook_endpoints WHERE account_id = $2 AND enabled)
RETURNING event_id AS "eventId", endpoint_id AS "endpointId"`

/** Schedules manual retries in PostgreSQL. The settlement process finds them when they are due. */
export function createRetryDelivery(postgres: Postgres, readDeliveries: ReadDeliveries): RetryDelivery {
  return async (deliveryId, accountId) => {
    const [row] = await postgres.$queryRawUnsafe<Array<{ eventId: string; endpointId: string }>>(
      RETRY,
      deliveryId,
      accountId,
    )
    if (!row) return null
    const [delivery] = await readDeliveries({ ...row, limit: 1 })
    return delivery ?? null
  }
}

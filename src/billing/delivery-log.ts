import type { Postgres } from '../platform/postgres.ts'

/** One attempt of a delivery. */
export interface AttemptEntry {
  at: string
  status_code: number | null
  error: string | null
  duration_ms: number
}

/** A delivery as an operator looks at it. */
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

/** Which deliveries to look at; newest first, `limit` at most. */
export interface DeliveryFilter {
  accountId?: string
  endpointId?: string
  eventId?: string
  limit: number
}

export type ReadDeliveries = (filter: DeliveryFilter) => Promise<DeliveryEntry[]>

/** The log of deliveries in PostgreSQL, as a function. */
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

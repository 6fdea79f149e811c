import type { EventData } from '../../core/operations/event.ts'
import { isMailed } from '../../core/operations/event-mails.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { MailedEvent } from './event-message.ts'

/** Later, a message about an event is no news. */
const GIVEN_UP_AFTER = "interval '1 day'"

const CLAIM = `
WITH due AS (
  SELECT event_id FROM event_mails
  WHERE finished_at IS NULL AND (queued_until IS NULL OR queued_until <= now())
  ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE event_mails AS mail SET
  queued_until = now() + $2::int * interval '1 millisecond',
  finished_at = CASE WHEN created_at < now() - ${GIVEN_UP_AFTER} THEN now() END
FROM due WHERE mail.event_id = due.event_id
RETURNING mail.event_id AS "eventId", mail.finished_at IS NULL AS "isDue"`

/** The address is read when the message is sent: it may have changed, or not be verified any more. */
const FIND = `
SELECT event.type, event.data, event.created_at AS "createdAt", account.email
FROM event_mails AS mail
JOIN events AS event ON event.id = mail.event_id
JOIN accounts AS account ON account.id = event.account_id
WHERE mail.event_id = $1 AND mail.finished_at IS NULL AND account.email_verified_at IS NOT NULL`

/** Messages about events that are to be sent. The outbox creates them, see src/webhooks/delivery-store.ts. */
export type EventMailStore = ReturnType<typeof createEventMailStore>

export function createEventMailStore(postgres: Postgres) {
  return {
    /** Leases messages to queue jobs: ids of their events, each to one caller only. */
    async claimDue(limit: number, leaseMs: number): Promise<string[]> {
      const claimed = await postgres.$queryRawUnsafe<Array<{ eventId: string; isDue: boolean }>>(
        CLAIM,
        limit,
        leaseMs,
      )
      return claimed.flatMap(({ eventId, isDue }) => (isDue ? eventId : []))
    },

    /** The event of a message that is still to be sent, with its recipient. */
    async find(eventId: string): Promise<MailedEvent | null> {
      const [row] = await postgres.$queryRawUnsafe<
        Array<{ type: string; data: EventData; createdAt: Date; email: string }>
      >(FIND, eventId)
      return row && isMailed(row.type) ? { ...row, type: row.type } : null
    },

    async finish(eventId: string): Promise<void> {
      await postgres.eventMail.updateMany({ where: { eventId }, data: { finishedAt: new Date() } })
    },
  }
}

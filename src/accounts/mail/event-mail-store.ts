import { isMailed } from '../../core/accounts/event-mails.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { MailedEvent } from './event-message.ts'

/** An older event is no longer worth a message. */
const GIVEN_UP_AFTER = "interval '1 day'"

const CLAIM = `
WITH due AS (
  SELECT event_id, account_id FROM event_mails
  WHERE finished_at IS NULL AND (queued_until IS NULL OR queued_until <= now())
  ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE event_mails AS mail SET
  queued_until = now() + $2::int * interval '1 millisecond',
  finished_at = CASE WHEN created_at < now() - ${GIVEN_UP_AFTER} THEN now() END
FROM due WHERE mail.event_id = due.event_id AND mail.account_id = due.account_id
RETURNING mail.event_id AS "eventId", mail.account_id AS "accountId", mail.finished_at IS NULL AS "isDue"`

/** Reads the person when the message is sent: the address may have changed, and the weekly message be turned off. */
const FIND = `
SELECT event.account_id AS "accountId", event.type, event.data, event.created_at AS "createdAt", person.email, account.name AS organisation
FROM event_mails AS mail
JOIN events AS event ON event.id = mail.event_id
JOIN accounts AS account ON account.id = event.account_id
JOIN accounts AS person ON person.id = mail.account_id
WHERE mail.event_id = $1 AND mail.account_id = $2 AND mail.finished_at IS NULL
  AND person.email_verified_at IS NOT NULL AND (event.type <> 'spend.weekly' OR person.weekly_mail)`

export interface EventMailId {
  eventId: string
  /** The personal account of the recipient. */
  accountId: string
}

/** Messages about events that wait to be sent. The outbox creates them, see src/webhooks/delivery-store.ts. */
export type EventMailStore = ReturnType<typeof createEventMailStore>

export function createEventMailStore(postgres: Postgres) {
  return {
    /** Leases messages to queue jobs, each to one caller. */
    async claimDue(limit: number, leaseMs: number): Promise<EventMailId[]> {
      const claimed = await postgres.$queryRawUnsafe<Array<EventMailId & { isDue: boolean }>>(
        CLAIM,
        limit,
        leaseMs,
      )
      return claimed.flatMap(({ isDue, ...id }) => (isDue ? id : []))
    },

    /** The event of an unsent message, with its recipient. */
    async find({ eventId, accountId }: EventMailId): Promise<MailedEvent | null> {
      const [row] = await postgres.$queryRawUnsafe<Array<Omit<MailedEvent, 'type'> & { type: string }>>(
        FIND,
        eventId,
        accountId,
      )
      return row && isMailed(row.type) ? { ...row, type: row.type } : null
    },

    async finish({ eventId, accountId }: EventMailId): Promise<void> {
      await postgres.eventMail.updateMany({ where: { eventId, accountId }, data: { finishedAt: new Date() } })
    },
  }
}

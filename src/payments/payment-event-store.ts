import type { PaymentRailName } from '../core/billing/postings.ts'
import { type PicoUsd, picoUsd } from '../core/kernel/money.ts'
import type { PaymentFact } from '../core/payments/payment.ts'
import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import type { PaymentEvent } from '../platform/prisma-client/client.ts'
import type { RailNotice } from './payment-rail.ts'

export type { PaymentEvent } from '../platform/prisma-client/client.ts'

export interface RecordedNotice {
  /** Null while no payment is known for it. */
  paymentId: string | null
  /** False if this event was stored before. */
  isNew: boolean
}

export type PaymentEventStore = ReturnType<typeof createPaymentEventStore>

const RECORD = `
INSERT INTO payment_events (rail, id, type, reference, fact, outcome, detail)
VALUES ($1::payment_rail, $2, $3, $4, $5::jsonb, $6::payment_event_outcome, $7)
ON CONFLICT (rail, id) DO NOTHING`

const MATCH = `
UPDATE payment_events SET payment_id = (
  SELECT payments.id FROM payments
  WHERE payments.rail = $1::payment_rail
    AND (payments.id = $3 OR payments.checkout_id = payment_events.reference
      OR payments.charge_id = payment_events.reference)
  ORDER BY payments.id = $3 DESC NULLS LAST LIMIT 1
) WHERE rail = $1::payment_rail AND id = $2 AND payment_id IS NULL`

const ADOPT = `
UPDATE payment_events SET payment_id = $1
WHERE rail = $2::payment_rail AND reference = $3 AND payment_id IS NULL`

const WAITING = `
SELECT payment_id AS "paymentId" FROM payment_events
WHERE outcome IS NULL AND payment_id IS NOT NULL AND received_at < $1
GROUP BY payment_id ORDER BY min(received_at) LIMIT $2`

/** The reported facts of a payment, as read by one transaction. */
export interface ReportedFacts {
  facts: PaymentFact[]
  /** Events among them that have not acted yet. */
  freshIds: string[]
}

/** Reads the facts of a payment, for the transaction that acts on them. */
export async function readFacts(
  transaction: Pick<PostgresTransaction, 'paymentEvent'>,
  paymentId: string,
): Promise<ReportedFacts> {
  const events = await transaction.paymentEvent.findMany({
    where: { paymentId, OR: [{ outcome: null }, { outcome: 'applied' }] },
    orderBy: [{ receivedAt: 'asc' }, { id: 'asc' }],
    select: { id: true, fact: true, outcome: true },
  })
  return {
    facts: events.flatMap(({ fact }) => (fact === null ? [] : [parseFact(fact as Record<string, unknown>)])),
    freshIds: events.filter(({ outcome }) => outcome === null).map(({ id }) => id),
  }
}

export function createPaymentEventStore(postgres: Postgres) {
  return {
    /**
     * Stores a reported event, once per event id, and finds its payment: by our own id, or by the rail's id of a
     * checkout or charge. An event without a payment is matched again whenever it is reported again.
     */
    async record(notice: RailNotice): Promise<RecordedNotice> {
      const outcome = notice.refusal !== null ? 'refused' : notice.fact === null ? 'ignored' : null
      const inserted = await postgres.$executeRawUnsafe(
        RECORD,
        notice.rail,
        notice.eventId,
        notice.type,
        notice.reference,
        notice.fact && JSON.stringify(notice.fact, amountsAsText),
        outcome,
        notice.refusal,
      )
      await postgres.$executeRawUnsafe(MATCH, notice.rail, notice.eventId, notice.paymentId)
      const { paymentId } = await postgres.paymentEvent.findUniqueOrThrow({
        where: { rail_id: { rail: notice.rail, id: notice.eventId } },
        select: { paymentId: true },
      })
      return { paymentId, isNew: inserted === 1 }
    },

    /** Assigns events that named only a rail's id to the payment that has it. */
    async adopt(paymentId: string, rail: PaymentRailName, reference: string): Promise<void> {
      await postgres.$executeRawUnsafe(ADOPT, paymentId, rail, reference)
    },

    facts: async (paymentId: string): Promise<PaymentFact[]> => (await readFacts(postgres, paymentId)).facts,

    /** All reports of a payment, in order of arrival. */
    list: (paymentId: string): Promise<PaymentEvent[]> =>
      postgres.paymentEvent.findMany({
        where: { paymentId },
        orderBy: [{ receivedAt: 'asc' }, { id: 'asc' }],
      }),

    /** Payments with events that were stored before a time and have not acted, because of a crash. */
    async waiting(keptBefore: Date, limit: number): Promise<string[]> {
      const rows = await postgres.$queryRawUnsafe<Array<{ paymentId: string }>>(WAITING, keptBefore, limit)
      return rows.map((row) => row.paymentId)
    },
  }
}

const amountsAsText = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

/** Only `record` writes these rows, so only the amount needs to be parsed. */
function parseFact(fact: Record<string, unknown>): PaymentFact {
  if (!('amountPico' in fact)) return fact as unknown as PaymentFact
  const amountPico: PicoUsd = picoUsd(BigInt(String(fact.amountPico)))
  return { ...fact, amountPico } as unknown as PaymentFact
}

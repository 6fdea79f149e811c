import type { PaymentRailName } from '../core/billing/postings.ts'
import { newId } from '../core/kernel/ids.ts'
import type { PaymentAmounts, PaymentState } from '../core/payments/payment.ts'
import { newestFirst, type Postgres } from '../platform/postgres/postgres.ts'
import type { Payment as PaymentRow } from '../platform/prisma-client/client.ts'
import type { OpenedCheckout, RailNotice, TimeSpan } from './payment-rail.ts'

/** A top-up as stored. Amounts in pico-USD. */
export type Payment = PaymentRow

type NamedPayment = Pick<RailNotice, 'rail' | 'paymentId' | 'reference'>

interface PaymentQuery {
  accountId?: string
  before?: string | null
  limit: number
}

export type PaymentStore = ReturnType<typeof createPaymentStore>

const OPEN: PaymentState[] = ['created', 'pending']

const ATTACH_CHARGE = `
UPDATE payments SET charge_id = $2 WHERE id = $1 AND charge_id IS NULL
AND NOT EXISTS (SELECT 1 FROM payments AS other WHERE other.rail = payments.rail AND other.charge_id = $2)`

export const postedAmounts = ({ settledPico, returnedPico, disputedPico }: Payment): PaymentAmounts =>
  ({ settledPico, returnedPico, disputedPico }) as PaymentAmounts

/** Payments in PostgreSQL. Only advancePayment changes their state and amounts. */
export function createPaymentStore(postgres: Postgres) {
  return {
    /** Records a payment in state `created`, before its rail has it. */
    create: (accountId: string, rail: PaymentRailName, amountPico: bigint): Promise<Payment> =>
      postgres.payment.create({ data: { id: newId('pay'), accountId, rail, amountPico } }),

    /** Charges of saved cards made after a time whose rail may not have received the request yet; not of suspended accounts. */
    uncharged: (madeAfter: Date, checkedBefore: Date, limit: number): Promise<Payment[]> =>
      postgres.payment.findMany({
        where: {
          state: 'created',
          methodId: { not: null },
          chargeId: null,
          account: { state: { not: 'suspended' } },
          createdAt: { gt: madeAfter },
          OR: [{ checkedAt: null }, { checkedAt: { lt: checkedBefore } }],
        },
        orderBy: { id: 'asc' },
        take: limit,
      }),

    /** The latest charge of an account's saved card. */
    latestCharge: (accountId: string): Promise<Payment | null> =>
      postgres.payment.findFirst({ where: { accountId, methodId: { not: null } }, orderBy: { id: 'desc' } }),

    find: (paymentId: string): Promise<Payment | null> =>
      postgres.payment.findUnique({ where: { id: paymentId } }),

    /** The payment of a rail's notice: named by our id, or by the rail's id of its checkout or charge. */
    findNamed: ({ rail, paymentId, reference }: NamedPayment): Promise<Payment | null> =>
      postgres.payment.findFirst({
        where: {
          rail,
          OR: [
            ...(paymentId === null ? [] : [{ id: paymentId }]),
            ...(reference === null ? [] : [{ checkoutId: reference }, { chargeId: reference }]),
          ],
        },
      }),

    /** Payments of a rail settled in a period, in that order, after the payment that ended the page before. */
    settledWithin: (
      rail: PaymentRailName,
      { fromMs, toMs }: TimeSpan,
      after: Pick<Payment, 'id' | 'settledAt'> | null,
      limit: number,
    ): Promise<Payment[]> =>
      postgres.payment.findMany({
        where: {
          rail,
          settledAt: { gte: after?.settledAt ?? new Date(fromMs), lt: new Date(toMs) },
          ...(after && { NOT: { settledAt: after.settledAt, id: { lte: after.id } } }),
        },
        orderBy: [{ settledAt: 'asc' }, { id: 'asc' }],
        take: limit,
      }),

    /** Newest first; of one account, or all. `before`: the id that ended the page before. */
    list: ({ accountId, before = null, limit }: PaymentQuery): Promise<Payment[]> =>
      postgres.payment.findMany(
        newestFirst({ after: before, limit }, accountId === undefined ? {} : { accountId }),
      ),

    /** Number of an account's payments that can still be paid. */
    countOpen: (accountId: string): Promise<number> =>
      postgres.payment.count({ where: { accountId, state: { in: OPEN } } }),

    /** Records the checkout of a payment, unless it has one. */
    async attachCheckout(paymentId: string, { checkoutId, checkoutUrl }: OpenedCheckout): Promise<void> {
      await postgres.payment.updateMany({
        where: { id: paymentId, checkoutId: null },
        data: { checkoutId, checkoutUrl },
      })
    },

    /** Records the rail's charge of a payment, unless another payment has it. */
    async attachCharge(paymentId: string, chargeId: string): Promise<void> {
      await postgres.$executeRawUnsafe(ATTACH_CHARGE, paymentId, chargeId)
    },

    /** Open payments created and last checked before these times, the longest unchecked first. */
    dueForCheck: (madeBefore: Date, checkedBefore: Date, limit: number): Promise<Payment[]> =>
      postgres.payment.findMany({
        where: {
          state: { in: OPEN },
          createdAt: { lt: madeBefore },
          OR: [{ checkedAt: null }, { checkedAt: { lt: checkedBefore } }],
        },
        orderBy: [{ checkedAt: { sort: 'asc', nulls: 'first' } }, { id: 'asc' }],
        take: limit,
      }),

    async noteChecked(paymentId: string, now: Date): Promise<void> {
      await postgres.payment.updateMany({ where: { id: paymentId }, data: { checkedAt: now } })
    },
  }
}

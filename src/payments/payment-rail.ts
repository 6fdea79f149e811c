import type { PaymentRailName } from '../core/billing/postings.ts'
import type { PaymentFact } from '../core/payments/payment.ts'
import type { Payment } from '../platform/prisma-client/client.ts'

/** One report of a rail, by webhook or as a response. */
export interface RailNotice {
  rail: PaymentRailName
  /** The rail's id of the event; equal ids are the same event. Derived from the content if the rail has none. */
  eventId: string
  /** The rail's event type. */
  type: string
  /** Our id, if the rail returns it. */
  paymentId: string | null
  /** The rail's id of a checkout or a charge, to find the payment by. */
  reference: string | null
  /** The charge of the checkout, if stated: later events name only the charge. */
  chargeId: string | null
  /** Null: the event does not change a payment's money. */
  fact: PaymentFact | null
  /** Why the event is rejected, such as another currency; an operator must decide. */
  refusal: string | null
  /** The rail waits for us: look the payment up. */
  ask: boolean
  /** The rail's id of a page that has saved a card. */
  cardSetupId: string | null
}

/** The fields read from a report; absent: unknown, or none. */
export type NoticeReading = Partial<Omit<RailNotice, 'rail' | 'eventId' | 'type'>>

/** Creates a notice with the read fields; the others are empty. */
export const railNotice = (
  rail: PaymentRailName,
  eventId: string,
  type: string,
  reading: NoticeReading,
): RailNotice => ({
  rail,
  eventId,
  type,
  paymentId: null,
  reference: null,
  chargeId: null,
  fact: null,
  refusal: null,
  ask: false,
  cardSetupId: null,
  ...reading,
})

/** Reads a report into a notice. An unreadable report becomes a rejected notice, not an error that the rail would repeat. */
export function readNotice(
  rail: PaymentRailName,
  eventId: string,
  type: string,
  read: () => NoticeReading,
): RailNotice {
  try {
    return railNotice(rail, eventId, type, read())
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error
    return railNotice(rail, eventId, type, { refusal: error.message })
  }
}

export interface OpenedCheckout {
  checkoutId: string
  /** The payment page; null if nothing is due. */
  checkoutUrl: string | null
}

export type WebhookReading = { kind: 'genuine'; notice: RailNotice } | { kind: 'forged'; reason: string }

export type WebhookHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Unix ms: from the first instant until just before the second. */
export interface TimeSpan {
  fromMs: number
  toMs: number
}

/** Our payments at a rail, for one that lists refunds by payment. */
export interface RefundablePayments {
  /** Those settled in the periods. */
  settled: AsyncIterable<Payment>
  findCharged(chargeId: string): Promise<Payment | null>
}

/** A saved card: the rail's ids, and what its holder recognizes it by. */
export interface RailCard {
  customerId: string
  methodId: string
  brand: string
  last4: string
  expMonth: number
  expYear: number
}

/** A page that saves a card. */
export interface OpenedCardSetup {
  setupId: string
  /** The page for entering the card; null: it is saved already. */
  url: string | null
}

/**
 * Saves cards at a rail, and charges them while the holder is away. Card numbers never pass through the gateway.
 * Network failures reject.
 */
export interface CardRail {
  /** Creates the account at the rail. The same account gets the same customer, at least within a day. */
  createCustomer(accountId: string): Promise<string>
  openSetup(customerId: string): Promise<OpenedCardSetup>
  /** The card that a page saved; null: none yet. */
  readSetup(setupId: string): Promise<RailCard | null>
  /**
   * Charges the card that a payment names. A repetition for the same payment within a day is the same charge. A decline
   * is a notice, too.
   */
  charge(payment: Payment): Promise<RailNotice>
  /** Removes a card at the rail; no error if it does not exist. */
  removeCard(methodId: string): Promise<void>
  /** Removes the rail's customer of an account, with all cards. */
  removeCustomer(customerId: string): Promise<void>
}

/** The rail refused the refund, and would refuse the same request again. */
export class RefundRefused extends Error {
  override name = 'RefundRefused'
}

/**
 * A payment provider. Rails only translate: their reports become facts, and only facts move money. Every method may be
 * repeated; network failures reject.
 */
export interface PaymentRail {
  name: PaymentRailName
  /** Whether verifying a webhook's signature takes a request to the rail. */
  asksToVerify: boolean
  /** Null: the rail saves no cards. */
  cards: CardRail | null
  /** Opens the payment page. The same payment gets the same page. */
  openCheckout(payment: Payment): Promise<OpenedCheckout>
  /** Verifies that a webhook comes from the rail, unaltered and recent, and reads it. */
  readWebhook(body: Buffer, headers: WebhookHeaders): Promise<WebhookReading>
  /** Reads the state of a payment, and takes the step that the rail may be waiting for. */
  lookUp(payment: Payment): Promise<RailNotice[]>
  /** Closes an unpaid checkout, if the rail supports it. */
  abandon(payment: Payment): Promise<RailNotice[]>
  /**
   * Refunds money. The same `key` refunds once, and returns the same result, even a failure. Throws RefundRefused.
   */
  refund(payment: Payment, amountPico: bigint, key: string): Promise<RailNotice>
  /**
   * The refunds of some periods in their current state, including those of foreign payments; or of the payments
   * settled in them, if the rail does not list refunds by time.
   */
  listRefunds(spans: readonly TimeSpan[], payments: RefundablePayments): AsyncIterable<RailNotice>
  /**
   * The payments of a period, including foreign ones: ours have our id. Null: the rail cannot list payments.
   */
  listPayments: ((span: TimeSpan) => AsyncIterable<RailNotice>) | null
  /** The disputes opened in some periods, in their current state. */
  listDisputes(spans: readonly TimeSpan[]): AsyncIterable<RailNotice>
}

/** The configured rails. */
export type PaymentRails = ReadonlyMap<PaymentRailName, PaymentRail>

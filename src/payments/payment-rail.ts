import type { PaymentFact, PaymentRailName } from '../core/payments/payment.ts'
import type { Payment } from '../platform/prisma-client/client.ts'

/** One thing a rail reported, by webhook or as a response. */
export interface RailNotice {
  rail: PaymentRailName
  /** The rail's id of the event; the same id is the same event. Made from the content where the rail has none. */
  eventId: string
  /** The rail's name of it. */
  type: string
  /** Our id, where the rail hands it back. */
  paymentId: string | null
  /** The rail's id of a checkout or a charge, to find the payment by. */
  reference: string | null
  /** The charge that came of the checkout, where it says so: later events name only that. */
  chargeId: string | null
  /** Null: nothing that concerns a payment's money. */
  fact: PaymentFact | null
  /** Why the event cannot count, such as another currency; a person must look. */
  refusal: string | null
  /** The rail waits for us: look the payment up. */
  ask: boolean
  /** The rail's id of a page that has saved a card. */
  cardSetupId: string | null
}

/** What a report says of a payment; what is left out is not known, or nothing. */
export type NoticeReading = Partial<Omit<RailNotice, 'rail' | 'eventId' | 'type'>>

/** A notice with what a rail reported; of the rest it knows nothing. */
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

/** Reads a report into a notice. What cannot be read is refused, never an error that the rail would repeat. */
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
  /** Where the customer pays; null where there is nothing to do. */
  checkoutUrl: string | null
}

export type WebhookReading = { kind: 'genuine'; notice: RailNotice } | { kind: 'forged'; reason: string }

export type WebhookHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Unix ms: from the first moment to just before the second. */
export interface TimeSpan {
  fromMs: number
  toMs: number
}

/** A card that a rail has saved: the rail's ids, and what its holder recognizes it by. */
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
  /** Where the holder enters the card; null: it is saved already. */
  url: string | null
}

/**
 * Cards that a rail saves, and charges while their holder is away. No number of a card passes through here. Network failures
 * reject.
 */
export interface CardRail {
  /** The account at the rail. The same account gets the same customer, at least within a day. */
  createCustomer(accountId: string): Promise<string>
  openSetup(customerId: string): Promise<OpenedCardSetup>
  /** The card that a page saved; null: none yet. */
  readSetup(setupId: string): Promise<RailCard | null>
  /**
   * Charges the card that a payment names. Asked again for the same payment within a day, it is the same charge. What the
   * bank refuses is a notice, too.
   */
  charge(payment: Payment): Promise<RailNotice>
  /** Removes a card at the rail; one that is gone is no error. */
  removeCard(methodId: string): Promise<void>
  /** Removes whoever an account is at the rail, with all cards. */
  removeCustomer(customerId: string): Promise<void>
}

/** The rail made no refund, and would not for the same request made again. */
export class RefundRefused extends Error {
  override name = 'RefundRefused'
}

/**
 * A way for money to come in, and to go back. Rails only translate: what they report becomes facts, and money
 * moves by those alone. Every method may be called again; network failures reject.
 */
export interface PaymentRail {
  name: PaymentRailName
  /** Whether checking a webhook's signature takes a request to the rail, and not just our own arithmetic. */
  asksToVerify: boolean
  /** Null: it saves no cards. */
  cards: CardRail | null
  /** Opens the page where a payment is paid. The same payment gets the same page. */
  openCheckout(payment: Payment): Promise<OpenedCheckout>
  /** Checks that a webhook comes from the rail, as it was sent and not long ago, and reads it. */
  readWebhook(body: Buffer, headers: WebhookHeaders): Promise<WebhookReading>
  /** Asks how a payment stands, and takes the step that the rail may be waiting for. */
  lookUp(payment: Payment): Promise<RailNotice[]>
  /** Closes an unpaid checkout, as far as the rail can. */
  abandon(payment: Payment): Promise<RailNotice[]>
  /**
   * Gives money back. The same `key` gives it back once, and has the same answer, also where that is a failure.
   * Throws RefundRefused.
   */
  refund(payment: Payment, amountPico: bigint, key: string): Promise<RailNotice>
  /**
   * The refunds made in a span of time, as they stand now, also those of payments that are not ours.
   * @param settled our payments settled since its start, for a rail that lists refunds by payment
   */
  listRefunds(span: TimeSpan, settled: AsyncIterable<Payment>): AsyncIterable<RailNotice>
  /**
   * The payments that were made in a span of time, also those that are not ours: one of ours has our id. Null: it lists
   * none.
   */
  listPayments: ((span: TimeSpan) => AsyncIterable<RailNotice>) | null
  /** The disputes opened in a span of time, as they stand now. */
  listDisputes(span: TimeSpan): AsyncIterable<RailNotice>
}

/** The rails that are set up. */
export type PaymentRails = ReadonlyMap<PaymentRailName, PaymentRail>

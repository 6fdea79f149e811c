import type { PaymentRailName } from '../billing/postings.ts'
import { formatUsd, picoUsd } from '../kernel/money.ts'
import { isoTime } from '../kernel/time.ts'
import type { InvoiceSettings } from './invoice-settings.ts'
import { PICO_PER_CENT } from './top-up-amount.ts'

export const INVOICE_KINDS = ['invoice', 'credit_note'] as const
export type InvoiceKind = (typeof INVOICE_KINDS)[number]

/** The recipient of an invoice. */
export interface InvoiceCustomer {
  /** Empty: the email is used instead. */
  name: string
  address: string[]
  /** ISO 3166-1 alpha-2, or empty. */
  country: string
  tax_id: string
  /** Empty for an organisation. */
  email: string
}

/** The printed content of an invoice. It is stored, so that later changes of addresses or settings do not affect it. */
export interface InvoiceDocument {
  kind: InvoiceKind
  /** `INV-000012` */
  number: string
  issued_at: string
  /** The payment moved no money. */
  test: boolean
  issuer: InvoiceSettings['issuer']
  customer: InvoiceCustomer
  /** The invoiced top-up. */
  payment: { id: string; rail: PaymentRailName; paid_at: string }
  /** The number of the invoice that it corrects. */
  corrects: string | null
  description: string
  currency: 'USD'
  /** Null: no tax is shown. The total includes the tax. */
  tax: { name: string; percent: string; net_usd: string; amount_usd: string } | null
  total_usd: string
  note: string
}

/** Issuer, customer, tax and number series of an invoice. */
export interface InvoiceTerms extends Pick<InvoiceSettings, 'issuer' | 'tax' | 'prefix'> {
  customer: InvoiceCustomer
}

/** The terms of a top-up's invoice. Payments without money have a separate series. */
export const newTerms = (
  { prefix, ...settings }: InvoiceSettings,
  rail: PaymentRailName,
  customer: InvoiceCustomer,
): InvoiceTerms => ({ ...settings, prefix: rail === 'development' ? `TEST-${prefix}` : prefix, customer })

/** The terms of an issued invoice: a correction has the same issuer, customer and tax. */
export const issuedTerms = (
  prefix: string,
  { issuer, customer, tax, note }: InvoiceDocument,
): InvoiceTerms => ({
  issuer,
  tax: { name: tax?.name ?? '', percent: tax?.percent ?? '0', note },
  prefix,
  customer,
})

export interface InvoiceFacts {
  kind: InvoiceKind
  number: bigint
  issuedAtMs: number
  amountPico: bigint
  payment: { id: string; rail: PaymentRailName; settledAtMs: number }
  corrects: string | null
}

const DIGITS = 6

export const invoiceNumber = (prefix: string, number: bigint): string =>
  `${prefix}${String(number).padStart(DIGITS, '0')}`

/** The printed content of an invoice. */
export function invoiceDocument(terms: InvoiceTerms, facts: InvoiceFacts): InvoiceDocument {
  const { kind, payment, amountPico } = facts
  const { name, percent, note } = terms.tax
  const taxPico = includedTax(amountPico, percent)
  return {
    kind,
    number: invoiceNumber(terms.prefix, facts.number),
    issued_at: isoTime(facts.issuedAtMs),
    test: payment.rail === 'development',
    issuer: terms.issuer,
    customer: terms.customer,
    payment: { id: payment.id, rail: payment.rail, paid_at: isoTime(payment.settledAtMs) },
    corrects: facts.corrects,
    description: describe(kind, facts.corrects),
    currency: 'USD',
    tax:
      Number(percent) === 0
        ? null
        : {
            name,
            percent,
            net_usd: formatUsd(amountPico - taxPico),
            amount_usd: formatUsd(taxPico),
          },
    total_usd: formatUsd(amountPico),
    note,
  }
}

const describe = (kind: InvoiceKind, corrects: string | null): string => {
  if (kind === 'credit_note') return 'Prepaid balance for API usage, returned'
  return corrects === null
    ? 'Prepaid balance for API usage'
    : 'Prepaid balance for API usage, return reversed'
}

/** `PERCENT` has up to three decimals. */
const PERCENT_SCALE = 1_000n

/**
 * The tax included in a price, in whole cents, halves rounded up: price × rate / (100 + rate). The amounts paid and
 * credited do not depend on it.
 */
export function includedTax(amountPico: bigint, percent: string): ReturnType<typeof picoUsd> {
  const [whole = '0', fraction = ''] = percent.split('.')
  const rate = BigInt(whole) * PERCENT_SCALE + BigInt(fraction.padEnd(3, '0').slice(0, 3) || '0')
  const divisor = (100n * PERCENT_SCALE + rate) * PICO_PER_CENT
  return picoUsd(((amountPico * rate * 2n + divisor) / (divisor * 2n)) * PICO_PER_CENT)
}

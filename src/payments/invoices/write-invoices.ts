import { newId } from '../../core/kernel/ids.ts'
import {
  type InvoiceCustomer,
  type InvoiceDocument,
  type InvoiceKind,
  type InvoiceTerms,
  invoiceDocument,
  invoiceNumber,
  issuedTerms,
  newTerms,
} from '../../core/payments/invoice.ts'
import type { InvoiceSettings } from '../../core/payments/invoice-settings.ts'
import type { PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { Payment } from '../payment-store.ts'

/** Locks the series until the transaction ends: no number is used twice, and none is skipped. */
const NEXT_NUMBER = `
INSERT INTO invoice_series (issuer, prefix, last_number) VALUES ($1, $2, 1)
ON CONFLICT (issuer, prefix) DO UPDATE SET last_number = invoice_series.last_number + 1
RETURNING last_number AS "number"`

/**
 * Writes the invoice of a top-up that was just posted, and afterwards a credit note for what was returned since, or
 * another invoice for a reversed return. It runs in the transaction that posts the money, with the payment locked, so a
 * repetition writes nothing. Top-ups from before invoices were configured have none; a correction follows its invoice,
 * whatever the settings are since.
 * @param payment its state after the posting
 * @param isNew whether the posting was that of the top-up itself
 */
export async function writeInvoices(
  transaction: PostgresTransaction,
  settings: InvoiceSettings | null,
  { payment, isNew }: { payment: Payment; isNew: boolean },
  nowMs: number,
): Promise<void> {
  const known = await transaction.invoice.findMany({
    where: { paymentId: payment.id },
    orderBy: { position: 'asc' },
  })
  const [first] = known
  if (!first && !(isNew && settings)) return
  const invoicedPico = known.reduce(
    (sum, { kind, amountPico }) => (kind === 'invoice' ? sum + amountPico : sum - amountPico),
    0n,
  )
  const missingPico = payment.settledPico - payment.returnedPico - invoicedPico
  if (missingPico === 0n) return
  const terms = first
    ? issuedTerms(first.prefix, first.document as unknown as InvoiceDocument)
    : newTerms(settings!, payment.rail, await readCustomer(transaction, payment.accountId))
  await writeInvoice(transaction, terms, payment, {
    kind: missingPico > 0n ? 'invoice' : 'credit_note',
    amountPico: missingPico > 0n ? missingPico : -missingPico,
    position: known.length,
    corrects: first ? invoiceNumber(first.prefix, first.number) : null,
    nowMs,
  })
}

async function writeInvoice(
  transaction: PostgresTransaction,
  terms: InvoiceTerms,
  { id, accountId, rail, settledAt }: Payment,
  about: { kind: InvoiceKind; amountPico: bigint; position: number; corrects: string | null; nowMs: number },
): Promise<void> {
  const { kind, amountPico, position, corrects, nowMs } = about
  const { prefix } = terms
  const issuer = terms.issuer.name
  const [series] = await transaction.$queryRawUnsafe<Array<{ number: bigint }>>(NEXT_NUMBER, issuer, prefix)
  const { number } = series!
  const document = invoiceDocument(terms, {
    ...{ kind, number, issuedAtMs: nowMs, amountPico, corrects },
    payment: { id, rail, settledAtMs: settledAt?.getTime() ?? nowMs },
  })
  await transaction.invoice.create({
    data: {
      id: newId('inv'),
      ...{ accountId, paymentId: id, position, kind, issuer, prefix, number, amountPico },
      document: document as object,
      issuedAt: new Date(nowMs),
    },
  })
}

async function readCustomer(transaction: PostgresTransaction, accountId: string): Promise<InvoiceCustomer> {
  const { email, name } = await transaction.account.findUniqueOrThrow({ where: { id: accountId } })
  const details = await transaction.billingDetails.findUnique({ where: { accountId } })
  return {
    name: details?.name || (name ?? ''),
    address: details?.address.split('\n').filter(Boolean) ?? [],
    country: details?.country ?? '',
    tax_id: details?.taxId ?? '',
    email: email ?? '',
  }
}

import {
  type InvoiceCustomer,
  type InvoiceKind,
  invoiceDocument,
  invoiceNumber,
  seriesPrefix,
} from '../../core/billing/invoice.ts'
import type { InvoiceSettings } from '../../core/billing/invoice-settings.ts'
import { newId } from '../../core/kernel/ids.ts'
import type { PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { Payment } from '../payment-store.ts'

/** Locks the series until the transaction ends: no two invoices get a number, and no number is left out. */
const NEXT_NUMBER = `
INSERT INTO invoice_series (issuer, prefix, last_number) VALUES ($1, $2, 1)
ON CONFLICT (issuer, prefix) DO UPDATE SET last_number = invoice_series.last_number + 1
RETURNING last_number AS "number"`

/**
 * Writes the invoice of a top-up that was just posted, and afterwards a credit note for what was returned since, or an
 * invoice again where a return was reversed. In the transaction that posts the money, whose payment is locked: doing so again
 * finds nothing to write. Top-ups from before invoices were set up have none.
 * @param payment as it is after the posting
 * @param isNew the posting was that of the top-up itself
 */
export async function writeInvoices(
  transaction: PostgresTransaction,
  settings: InvoiceSettings,
  { payment, isNew }: { payment: Payment; isNew: boolean },
  nowMs: number,
): Promise<void> {
  const known = await transaction.invoice.findMany({
    where: { paymentId: payment.id },
    orderBy: { position: 'asc' },
    select: { kind: true, amountPico: true, prefix: true, number: true, position: true },
  })
  const [first] = known
  if (!first && !isNew) return
  const invoicedPico = known.reduce(
    (sum, { kind, amountPico }) => (kind === 'invoice' ? sum + amountPico : sum - amountPico),
    0n,
  )
  const missingPico = payment.settledPico - payment.returnedPico - invoicedPico
  if (missingPico === 0n) return
  await writeInvoice(transaction, settings, payment, {
    kind: missingPico > 0n ? 'invoice' : 'credit_note',
    amountPico: missingPico > 0n ? missingPico : -missingPico,
    position: known.length,
    corrects: first ? invoiceNumber(first.prefix, first.number) : null,
    nowMs,
  })
}

async function writeInvoice(
  transaction: PostgresTransaction,
  settings: InvoiceSettings,
  { id, accountId, rail, settledAt }: Payment,
  about: { kind: InvoiceKind; amountPico: bigint; position: number; corrects: string | null; nowMs: number },
): Promise<void> {
  const { kind, amountPico, position, corrects, nowMs } = about
  const issuer = settings.issuer.name
  const prefix = seriesPrefix(settings, rail)
  const customer = await readCustomer(transaction, accountId)
  const [series] = await transaction.$queryRawUnsafe<Array<{ number: bigint }>>(NEXT_NUMBER, issuer, prefix)
  const { number } = series!
  const document = invoiceDocument(settings, {
    ...{ kind, number, issuedAtMs: nowMs, amountPico, customer, corrects },
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

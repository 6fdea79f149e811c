import type { InvoiceDocument, InvoiceKind } from '../../core/payments/invoice.ts'
import { newestFirst, type Postgres } from '../../platform/postgres/postgres.ts'
import type { BillingDetails, Invoice as InvoiceRow } from '../../platform/prisma-client/client.ts'

export type { BillingDetails } from '../../platform/prisma-client/client.ts'

/** An invoice or credit note as it was issued. */
export interface Invoice extends Omit<InvoiceRow, 'kind' | 'document'> {
  kind: InvoiceKind
  document: InvoiceDocument
}

/** Only writeInvoices writes these rows, so the document has this shape. */
const asIssued = (row: InvoiceRow): Invoice => row as unknown as Invoice

/** Invoices and their recipients, in PostgreSQL. */
export function createInvoiceStore(postgres: Postgres) {
  return {
    /** Newest first. `before`: the id that ended the page before. */
    async list(accountId: string, before: string | null, limit: number): Promise<Invoice[]> {
      const rows = await postgres.invoice.findMany(newestFirst({ after: before, limit }, { accountId }))
      return rows.map(asIssued)
    },

    /** The invoices of one top-up, in the order of issue. */
    async ofPayment(paymentId: string): Promise<Invoice[]> {
      const rows = await postgres.invoice.findMany({ where: { paymentId }, orderBy: { position: 'asc' } })
      return rows.map(asIssued)
    },

    async find(id: string): Promise<Invoice | null> {
      const row = await postgres.invoice.findUnique({ where: { id } })
      return row && asIssued(row)
    },

    details: (accountId: string): Promise<BillingDetails | null> =>
      postgres.billingDetails.findUnique({ where: { accountId } }),

    /** Issued invoices do not change. */
    async saveDetails(details: Omit<BillingDetails, 'updatedAt'>): Promise<void> {
      const saved = { ...details, updatedAt: new Date() }
      const { accountId } = details
      await postgres.billingDetails.upsert({ where: { accountId }, create: saved, update: saved })
    },
  }
}

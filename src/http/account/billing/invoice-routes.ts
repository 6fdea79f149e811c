import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import {
  BillingDetailsBody,
  BillingDetailsView,
  InvoiceView,
  TopUpInvoices,
} from '../../../core/api/invoices.ts'
import { jsonView } from '../../../core/api/json-view.ts'
import { Page } from '../../../core/api/shared.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import type { InvoiceDocument } from '../../../core/payments/invoice.ts'
import type { BillingDetails, Invoice } from '../../../payments/invoices/invoice-store.ts'
import type { invoicePdf } from '../../../platform/documents/invoice-pdf.ts'
import { threads } from '../../../platform/process/thread-pool.ts'
import { bySession } from '../../account-api/account-access.ts'
import { OfId, PageQuery, pageOf } from '../../page.ts'

const PRINTER = new URL('../../../platform/documents/invoice-pdf.ts', import.meta.url).href
/** Runs after all tasks that calls wait for. */
const PRINT_WEIGHT = 10_000_000
/** A thread loads the libraries with its first invoice, which takes a second on an idle machine. */
const PRINT_LIMIT_MS = 30_000

/** The invoices of an account, and its billing details. */
export const invoiceRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { payments, issuesInvoices, consoleSlots } = app.billing
  const { invoices } = payments
  const { requester, hooks } = bySession(app, 'billing')
  const detailsView = (details: BillingDetails | null): BillingDetailsView => ({
    name: details?.name ?? '',
    address: details?.address ?? '',
    country: details?.country ?? '',
    tax_id: details?.taxId ?? '',
    invoices: issuesInvoices,
  })

  const reading = { ...hooks, schema: { response: { 200: BillingDetailsView } } }
  app.get('/billing-details', reading, async (request) =>
    detailsView(await invoices.details(requester(request).accountId)),
  )

  const saving = { ...hooks, schema: { body: BillingDetailsBody, response: { 200: BillingDetailsView } } }
  app.patch('/billing-details', saving, async (request) => {
    const { accountId } = requester(request)
    const { name, address, country, tax_id: taxId } = request.body
    await invoices.saveDetails({
      ...{ accountId, country },
      name: plain(name),
      address: address
        .split('\n')
        .flatMap((line) => plain(line) || [])
        .join('\n'),
      taxId: plain(taxId),
    })
    await app.recordAction(request, 'billing_details.changed', accountId)
    return detailsView(await invoices.details(accountId))
  })

  const listing = { ...hooks, schema: { querystring: PageQuery, response: { 200: Page(InvoiceView) } } }
  app.get('/invoices', listing, async (request) => {
    const { accountId } = requester(request)
    const { limit, cursor = null } = request.query
    const found = await invoices.list(accountId, cursor, limit + 1)
    return pageOf(found, limit, invoiceView, (shown) => shown.at(-1)!.id)
  })

  const ofTopUp = { ...hooks, schema: { params: OfId, response: { 200: TopUpInvoices } } }
  app.get('/top-ups/:id/invoices', ofTopUp, async (request) => {
    const { accountId } = requester(request)
    const found = await invoices.ofPayment(request.params.id)
    const own = found.filter((invoice) => invoice.accountId === accountId)
    return { data: own.map((invoice) => ({ ...invoiceView(invoice), ...printed(invoice.document) })) }
  })

  app.get('/invoices/:id/pdf', { ...hooks, schema: { params: OfId } }, async (request, reply) => {
    const { accountId, holder } = requester(request)
    const invoice = await invoices.find(request.params.id)
    if (invoice?.accountId !== accountId)
      throw new ApiError('not_found', 'This account has no invoice with this id.')
    return consoleSlots.run(holder, () => sendInvoicePdf(reply, invoice))
  })
}

/** Removes control and format characters, and line breaks. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').trim()

const fileName = ({ number }: InvoiceDocument): string => number.replaceAll('/', '-')

/** Sends an invoice as PDF, rendered in a thread. Throws ApiError while threads are busy. */
export async function sendInvoicePdf(reply: FastifyReply, { document }: Invoice): Promise<FastifyReply> {
  const print = { module: PRINTER, name: 'invoicePdf', input: document }
  const pdf = await threads.run('load', print, { weight: PRINT_WEIGHT, limitMs: PRINT_LIMIT_MS })
  if (pdf.kind === 'refused')
    throw new ApiError('overloaded', 'The invoice cannot be rendered right now. Retry shortly.', {
      retryAfterSeconds: 5,
    })
  return reply
    .header('content-disposition', `attachment; filename="${fileName(document)}.pdf"`)
    .header('cache-control', 'no-store')
    .type('application/pdf')
    .send(Buffer.from(pdf.value as Awaited<ReturnType<typeof invoicePdf>>))
}

/** An invoice in a list. */
export const invoiceView = ({ document, ...invoice }: Invoice): InvoiceView =>
  jsonView(InvoiceView, { ...document, ...invoice, number: document.number, topUpId: invoice.paymentId })

function printed({ issuer, customer, corrects, description, tax, note }: InvoiceDocument) {
  const { name, address, taxId, email } = issuer
  return { issuer: { name, address, tax_id: taxId, email }, customer, corrects, description, tax, note }
}

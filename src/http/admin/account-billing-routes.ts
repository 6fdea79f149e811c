import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AccountBilling } from '../../core/api/accounts.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { TopUps } from '../../payments/create-top-ups.ts'
import { autoTopUpView } from '../account/billing/auto-top-up-routes.ts'
import { invoiceView, sendInvoicePdf } from '../account/billing/invoice-routes.ts'
import { OfId } from '../page.ts'
import { needs } from '../plugins/operator-access.ts'

const SHOWN_MAX = 20

/** What operators see of the saved card, automatic top-ups and invoices of an account. */
export const accountBillingRoutes: FastifyPluginAsyncTypebox<{
  topUps: Pick<TopUps, 'cards' | 'autoTopUps' | 'payments' | 'invoices'>
}> = async (app, { topUps }) => {
  const reading = { ...needs('read'), schema: { params: OfId, response: { 200: AccountBilling } } }
  app.get('/accounts/:id/billing', reading, async ({ params: { id } }) => ({
    auto_top_up: await autoTopUpView(topUps, id),
    invoices: (await topUps.invoices.list(id, null, SHOWN_MAX)).map(invoiceView),
  }))

  app.get('/invoices/:id/pdf', { ...needs('read'), schema: { params: OfId } }, async ({ params }, reply) => {
    const invoice = await topUps.invoices.find(params.id)
    if (!invoice) throw new ApiError('not_found', 'There is no invoice of that id.')
    return sendInvoicePdf(reply, invoice)
  })
}

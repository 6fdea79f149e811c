import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { AccountBilling, RefundTopUpRequest } from '../../core/api/accounts.ts'
import { OperatorTopUp } from '../../core/api/billing.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { parseUsd } from '../../core/kernel/money.ts'
import { PICO_PER_CENT } from '../../core/payments/top-up-amount.ts'
import { autoTopUpView } from '../account/billing/auto-top-up-routes.ts'
import { invoiceView, sendInvoicePdf } from '../account/billing/invoice-routes.ts'
import { OfId } from '../page.ts'
import { askingOperator, needs, operatorRoute } from '../plugins/operator-access.ts'
import { topUpView } from './account-routes.ts'

const SHOWN_MAX = 20
const OfTopUp = Type.Object({ id: Type.String(), topUpId: Type.String() })

/** The saved card, automatic top-ups and invoices of an account, and refunds of its top-ups. */
export const accountBillingRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { payments, refundTopUp } = app.billing
  const { accountManagement } = app.operators
  const reading = operatorRoute('read', AccountBilling, { params: OfId })
  app.get('/accounts/:id/billing', reading, async ({ params: { id } }) => ({
    auto_top_up: await autoTopUpView(payments, id),
    invoices: (await payments.invoices.list(id, null, SHOWN_MAX)).map(invoiceView),
  }))

  app.post(
    '/accounts/:id/top-ups/:topUpId/refund',
    operatorRoute('billing.write', OperatorTopUp, { params: OfTopUp, body: RefundTopUpRequest }),
    async (request) => {
      const { params, body } = request
      const { id: accountId } = await accountManagement.find(params.id)
      const payment = await payments.payments.find(params.topUpId)
      if (payment?.accountId !== accountId) throw new ApiError('not_found', 'The account has no such top-up.')
      const amountPico = parseUsd(body.amount_usd)
      if (amountPico % PICO_PER_CENT !== 0n)
        throw new ApiError('invalid_request', '`amount_usd` must be in whole cents.', { param: 'amount_usd' })
      if (payment.returnedPico !== parseUsd(body.returned_usd))
        throw new ApiError('conflict', 'The returned amount of this top-up has changed. Reload the page.')
      const { reason, force } = body
      const refund = { payment, amountPico, reason: reason.trim(), force }
      return topUpView(await refundTopUp(askingOperator(request), refund))
    },
  )

  app.get('/invoices/:id/pdf', { ...needs('read'), schema: { params: OfId } }, async ({ params }, reply) => {
    const invoice = await payments.invoices.find(params.id)
    if (!invoice) throw new ApiError('not_found', 'There is no invoice with this id.')
    return sendInvoicePdf(reply, invoice)
  })
}

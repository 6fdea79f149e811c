import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import {
  AccountLimitsRequest,
  AdjustRequest,
  BalanceChanged,
  CreditRequest,
  OperatorAccount,
  OperatorAccountDetail,
  SuspendRequest,
} from '../../core/api/accounts.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import { formatUsd, parseUsd } from '../../core/kernel/money.ts'
import type { Services } from '../../services.ts'
import { OfId } from '../of-id.ts'
import { ID_PAGE, idPage } from '../page.ts'
import { type AccountDetailServices, accountDetail } from './account-detail.ts'
import { accountView } from './account-views.ts'
import { askingOperator } from './asking-operator.ts'
import { readRateLimits } from './read-rate-limits.ts'

const AccountSearch = Type.Object({ search: Type.Optional(Type.String()), ...ID_PAGE }, CLOSED)

/** Accounts: looked up, suspended, resumed, limited, credited and adjusted. */
export const accountRoutes: FastifyPluginAsyncTypebox<
  AccountDetailServices & Pick<Services, 'accountManagement' | 'directory'>
> = async (app, services) => {
  const { accountManagement, directory } = services
  const find = accountManagement.find
  const detailOf = async (idOrEmail: string): Promise<OperatorAccountDetail> =>
    accountDetail(await find(idOrEmail), services)

  app.get(
    '/accounts',
    { schema: { querystring: AccountSearch, response: { 200: Page(OperatorAccount) } } },
    ({ query: { search = null, ...page } }) =>
      idPage(page, (after) => directory.page({ search, ...after }), accountView),
  )

  app.get(
    '/accounts/:id',
    { schema: { params: OfId, response: { 200: OperatorAccountDetail } } },
    ({ params }) => detailOf(params.id),
  )

  for (const verb of ['suspend', 'resume'] as const) {
    app.post(
      `/accounts/:id/${verb}`,
      { schema: { params: OfId, body: SuspendRequest, response: { 200: OperatorAccountDetail } } },
      async (request) => {
        const { id } = await find(request.params.id)
        await accountManagement[verb](askingOperator(request), id, request.body.reason.trim())
        return detailOf(id)
      },
    )
  }

  app.post(
    '/accounts/:id/limits',
    { schema: { params: OfId, body: AccountLimitsRequest, response: { 200: OperatorAccountDetail } } },
    async (request) => {
      const { id } = await find(request.params.id)
      const limits = readRateLimits(request.body, Object.keys(AccountLimitsRequest.properties))
      await accountManagement.setLimits(askingOperator(request), id, limits)
      return detailOf(id)
    },
  )

  app.post(
    '/accounts/:id/credit',
    { schema: { params: OfId, body: CreditRequest, response: { 200: BalanceChanged } } },
    async (request) => {
      const { id } = await find(request.params.id)
      const amountPico = parseUsd(request.body.amount_usd)
      const operator = askingOperator(request)
      const credited = await accountManagement.credit(operator, id, amountPico, request.body.reference)
      return balanceChanged(id, { ...credited, balancePico: credited.account.balancePico, posted: null })
    },
  )

  app.post(
    '/accounts/:id/adjust',
    { schema: { params: OfId, body: AdjustRequest, response: { 200: BalanceChanged } } },
    async (request) => {
      const { id } = await find(request.params.id)
      const { amount_usd, reason, reference } = request.body
      const adjustment = { accountId: id, amountPico: parseUsd(amount_usd), reason: reason.trim() }
      return balanceChanged(
        id,
        await accountManagement.adjust(askingOperator(request), adjustment, reference),
      )
    },
  )
}

const balanceChanged = (
  accountId: string,
  changed: { balancePico: bigint; reference: string; posted: boolean | null; isSpendable: boolean },
): BalanceChanged => ({
  object: 'balance_changed',
  account_id: accountId,
  balance_usd: formatUsd(changed.balancePico),
  reference: changed.reference,
  posted: changed.posted,
  spendable_now: changed.isSpendable,
})

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type TObject, Type } from 'typebox'
import {
  type Account,
  type AccountSummary,
  accountName,
  isPerson,
  type ListedSuspension,
} from '../../accounts/account-store.ts'
import type { StoredKey } from '../../accounts/key-store.ts'
import type { MailOutcome, SentMail } from '../../accounts/mail/sent-mail-store.ts'
import type { UsageRow } from '../../billing/reports/usage-store.ts'
import type { RateLimits } from '../../core/accounts/api-key.ts'
import {
  AccountLimitsRequest,
  AdjustRequest,
  BalanceChanged,
  CreditRequest,
  ListedAccount,
  OperatorAccount,
  OperatorAccountDetail,
  OperatorSuspension,
  SentMailView,
  SuspendRequest,
} from '../../core/api/accounts.ts'
import { OperatorTopUp } from '../../core/api/billing.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { OperatorKey } from '../../core/api/keys.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd, parseUsd } from '../../core/kernel/money.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Payment } from '../../payments/payment-store.ts'
import { ID_PAGE, idPage, OfId } from '../page.ts'
import { askingOperator, operatorRoute } from '../plugins/operator-access.ts'
import { actionView } from './alarm-routes.ts'

const AccountSearch = Type.Object({ search: Type.Optional(Type.String()), ...ID_PAGE }, CLOSED)

/** Accounts: search, suspend, resume, limit, credit and adjust. */
export const accountRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { accountManagement, directory, sentMails } = app.operators
  const find = accountManagement.find
  const detailOf = async (idOrEmail: string): Promise<OperatorAccountDetail> =>
    accountDetail(await find(idOrEmail), app)

  app.get(
    '/accounts',
    operatorRoute('read', Page(ListedAccount), { querystring: AccountSearch }),
    ({ query: { search = null, ...page } }) =>
      idPage(page, (after) => directory.page({ search, ...after }), listedAccountView),
  )

  app.get('/accounts/:id', operatorRoute('read', OperatorAccountDetail, { params: OfId }), ({ params }) =>
    detailOf(params.id),
  )

  app.get(
    '/accounts/:id/mails',
    operatorRoute('read', Page(SentMailView), { params: OfId, querystring: Type.Object(ID_PAGE, CLOSED) }),
    async ({ params, query }) => {
      const { id: accountId, email } = await find(params.id)
      return idPage(query, (after) => sentMails.page({ accountId, email, ...after }), sentMailView)
    },
  )

  for (const verb of ['suspend', 'resume'] as const) {
    app.post(
      `/accounts/:id/${verb}`,
      operatorRoute('accounts.suspend', OperatorAccountDetail, { params: OfId, body: SuspendRequest }),
      async (request) => {
        const { id } = await find(request.params.id)
        await accountManagement[verb](askingOperator(request), id, request.body.reason.trim())
        return detailOf(id)
      },
    )
  }

  app.post(
    '/accounts/:id/limits',
    operatorRoute('accounts.write', OperatorAccountDetail, { params: OfId, body: AccountLimitsRequest }),
    async (request) => {
      const { id } = await find(request.params.id)
      const limits = readRateLimits(request.body)
      await accountManagement.setLimits(askingOperator(request), id, limits)
      return detailOf(id)
    },
  )

  app.post(
    '/accounts/:id/credit',
    operatorRoute('billing.write', BalanceChanged, { params: OfId, body: CreditRequest }),
    async (request) => {
      const { id } = await find(request.params.id)
      const { amount_usd: amount, reference, reason } = request.body
      const amountPico = parseUsd(amount)
      const operator = askingOperator(request)
      const credited = await accountManagement.credit(operator, id, amountPico, reference, reason?.trim())
      return balanceChanged(id, { ...credited, balancePico: credited.account.balancePico, posted: null })
    },
  )

  app.post(
    '/accounts/:id/adjust',
    operatorRoute('billing.write', BalanceChanged, { params: OfId, body: AdjustRequest }),
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

const SPEND_DAYS = 30
const LISTED = 20

/** The view of one account for operators. It shows the ledger's data even if Redis is away. */
async function accountDetail(account: Account, app: FastifyInstance): Promise<OperatorAccountDetail> {
  const { keys } = app.accounts
  const { usage, payments } = app.billing
  const { directory, auditLog, hostClock: clock } = app.operators
  const { id } = account
  const now = clock()
  const lastDays = { fromMs: now - SPEND_DAYS * DAY_MS, toMs: now + 1 }
  const [hasHolder, holds, memberships, apiKeys, spend, topUps, suspensions, done] = await Promise.all([
    app.operators.hasHolder(id),
    app.billing.holds.inspect(id).catch(() => null),
    membershipsOf(account, app.accounts),
    keys.list(id),
    usage.usage(id, lastDays, 'day', SPEND_DAYS + 1),
    payments.payments.list({ accountId: id, limit: LISTED }),
    directory.suspensions(id, LISTED),
    auditLog.page({
      targets: account.email === null ? [id] : [id, account.email],
      after: null,
      limit: LISTED,
    }),
  ])
  return {
    object: 'account',
    ...accountView(account),
    available_usd: holds && formatUsd(holds.availPico ?? account.balancePico),
    held_usd: holds && formatUsd(holds.heldPico),
    open_holds: holds?.openHolds ?? null,
    has_holder: hasHolder,
    memberships,
    keys: apiKeys.map(keyView),
    spend: (spend?.rows ?? []).map(spendView),
    top_ups: topUps.map(topUpView),
    suspensions: suspensions.map(suspensionView),
    actions: done.map(actionView),
  }
}

async function membershipsOf(
  account: Account,
  { members }: FastifyInstance['accounts'],
): Promise<OperatorAccountDetail['memberships']> {
  if (isPerson(account)) {
    const found = await members.organisationsOf(account.id)
    return found.map(({ account: { id, name }, role }) => ({ account_id: id, name: name ?? '', role }))
  }
  const found = await members.list(account.id)
  return found.map(({ personId, email, role }) => ({ account_id: personId, name: email, role }))
}

const named = <Row extends Account>(account: Row) => ({
  ...account,
  name: accountName(account),
  isOrganisation: !isPerson(account),
})

export const accountView = (account: Account): OperatorAccount => jsonView(OperatorAccount, named(account))

const listedAccountView = (account: AccountSummary): ListedAccount => jsonView(ListedAccount, named(account))

/** A key without its secret. */
export const keyView = (key: StoredKey): OperatorKey =>
  jsonView(OperatorKey, {
    ...key,
    hint: `${key.prefix}…${key.suffix}`,
    operatorRequestsPerMinute: key.requestsPerMinute,
    operatorConcurrentCalls: key.concurrentCalls,
  })

export const topUpView = (payment: Payment): OperatorTopUp => jsonView(OperatorTopUp, payment)

const suspensionView = (suspension: ListedSuspension): OperatorSuspension =>
  jsonView(OperatorSuspension, { ...suspension, at: suspension.createdAt })

const sentMailView = ({ outcome, ...mail }: SentMail): SentMailView =>
  // Only sent-mail-store.ts writes these rows.
  jsonView(SentMailView, { ...mail, outcome: outcome as MailOutcome })

const spendView = (row: UsageRow): OperatorAccountDetail['spend'][number] => ({
  day: row.group,
  calls: Number(row.calls),
  total_tokens: Number(row.promptTokens + row.completionTokens),
  cost_usd: formatUsd(row.chargePico),
})

/** Reads rate limits; absent limits stay absent. */
function readRateLimits(body: AccountLimitsRequest): Partial<RateLimits> {
  refuseEmpty(body, AccountLimitsRequest)
  const { requests_per_minute: requestsPerMinute, concurrent_calls: concurrentCalls } = body
  return {
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(concurrentCalls !== undefined && { concurrentCalls }),
  }
}

/** Throws ApiError `invalid_request` for a body without a field. */
export function refuseEmpty(body: object, { properties }: TObject): void {
  if (Object.keys(body).length === 0)
    throw new ApiError('invalid_request', `Send at least one of ${Object.keys(properties).join(', ')}.`)
}

import type { FastifyPluginAsync } from 'fastify'
import type { ListedAccount } from '../../accounts/account-directory.ts'
import type { BalanceChanged, OperatorAccount, OperatorAccountDetail } from '../../core/api/accounts.ts'
import type { OperatorPage } from '../../core/api/shared.ts'
import { RefusedPosting } from '../../core/billing/refused-posting.ts'
import { type QueryParameters, readText, refuseUnknown } from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { newId } from '../../core/kernel/ids.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { readFields } from '../account/read-body.ts'
import { accountDetail } from './account-detail.ts'
import { accountView } from './account-views.ts'
import { doDeed } from './deed.ts'
import { idPage, readIdPage } from './id-page.ts'
import type { OperatorServices } from './operator-services.ts'
import { readAmount, readReason, readReference } from './read-deed-body.ts'
import { RATE_LIMIT_FIELDS, rateLimitDetails, readRateLimits } from './read-rate-limits.ts'

interface Named {
  Params: { id: string }
}

/** Accounts: looked up, suspended, resumed, limited, credited and adjusted. */
export const accountRoutes: FastifyPluginAsync<OperatorServices> = async (app, services) => {
  const { accounts, directory, gate, announce, adjust } = services

  const find = async (idOrEmail: string): Promise<ListedAccount> => {
    const account = await directory.find(idOrEmail)
    if (!account) throw new ApiError('not_found', 'There is no such account.')
    return account
  }

  app.get('/accounts', async (request): Promise<OperatorPage<OperatorAccount>> => {
    const query = request.query as QueryParameters
    refuseUnknown(query, ['search', 'limit', 'cursor'])
    const page = readIdPage(query)
    const found = directory.page({
      search: readText(query, 'search'),
      after: page.after,
      limit: page.limit + 1,
    })
    return idPage(await found, page, accountView)
  })

  app.get<Named>('/accounts/:id', async ({ params }): Promise<OperatorAccountDetail> => {
    return accountDetail(await find(params.id), services)
  })

  for (const verb of ['suspend', 'resume'] as const) {
    app.post<Named>(`/accounts/:id/${verb}`, async (request): Promise<OperatorAccountDetail> => {
      const { id } = await find(request.params.id)
      const reason = readReason(readFields(request.body, ['reason']))
      await doDeed(request, { action: `account.${verb}`, target: id, details: { reason } }, services, () =>
        accounts[verb](id).then(() => announce({ accountId: id })),
      )
      return accountDetail(await find(id), services)
    })
  }

  app.post<Named>('/accounts/:id/limits', async (request): Promise<OperatorAccountDetail> => {
    const { id } = await find(request.params.id)
    const limits = readRateLimits(readFields(request.body, RATE_LIMIT_FIELDS))
    const details = rateLimitDetails(limits)
    await doDeed(request, { action: 'account.limits', target: id, details }, services, () =>
      accounts.setLimits(id, limits).then(() => announce({ accountId: id })),
    )
    return accountDetail(await find(id), services)
  })

  app.post<Named>('/accounts/:id/credit', async (request): Promise<BalanceChanged> => {
    const { id } = await find(request.params.id)
    const fields = readFields(request.body, ['amount_usd', 'reference'])
    const amountPico = readAmount(fields, 'positive')
    const reference = readReference(fields) ?? newId('evt')
    const details = { amount_usd: formatUsd(amountPico), reference }
    return doDeed(request, { action: 'account.credit', target: id, details }, services, async () => {
      const credited = await posting(accounts.credit(id, reference, amountPico))
      // The credit stands. Should Redis be away, maintenance brings it there.
      const spendable = await gate.apply(id, credited, []).then(
        () => true,
        () => false,
      )
      return balanceChanged(id, credited.balancePico, reference, null, spendable)
    })
  })

  app.post<Named>('/accounts/:id/adjust', async (request): Promise<BalanceChanged> => {
    const { id } = await find(request.params.id)
    const fields = readFields(request.body, ['amount_usd', 'reason', 'reference'])
    const amountPico = readAmount(fields, 'signed')
    const reason = readReason(fields)
    const eventId = readReference(fields) ?? newId('evt')
    const details = { amount_usd: formatUsd(amountPico), reason, reference: eventId }
    return doDeed(request, { action: 'account.adjust', target: id, details }, services, async () => {
      const adjusted = await posting(adjust({ accountId: id, eventId, amountPico, reason }))
      return balanceChanged(id, adjusted.balancePico, eventId, adjusted.posted, adjusted.isSpendable)
    })
  })

  /** Waits for a posting; what it refuses is the operator's to mend. */
  const posting = <T>(posted: Promise<T>): Promise<T> =>
    posted.catch((error: unknown) => {
      if (!(error instanceof RefusedPosting)) throw error
      const code = error.reason === 'reference-taken' ? 'idempotency_conflict' : 'invalid_request'
      throw new ApiError(code, error.message, { shouldRetry: false, cause: error })
    })
}

const balanceChanged = (
  accountId: string,
  balancePico: bigint,
  reference: string,
  posted: boolean | null,
  spendableNow: boolean,
): BalanceChanged => ({
  object: 'balance_changed',
  account_id: accountId,
  balance_usd: formatUsd(balancePico),
  reference,
  posted,
  spendable_now: spendableNow,
})

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { GroupBudgetChange, SpentGroup } from '../../accounts/self-service/group-budgets.ts'
import {
  GroupBudgetBody,
  GroupBudgetDeleted,
  GroupBudgetList,
  GroupBudgetQuery,
  GroupBudgetView,
} from '../../core/api/budgets.ts'
import { readUsd } from '../../core/api/request-fields.ts'
import { type AllowancePeriod, allowancePeriod } from '../../core/billing/allowance-period.ts'
import { invalid } from '../../core/kernel/errors.ts'
import { formatUsd, formatUsdOrNull } from '../../core/kernel/money.ts'
import { isoTimeOrNull } from '../../core/kernel/time.ts'
import { byKey, bySession, type EditorAccess } from './account-access.ts'

/** GET, POST and DELETE /v2/budgets: the budgets of projects, of a tag and of end users of an account. */
export const groupBudgetsRoute = (path: string): FastifyPluginAsyncTypebox =>
  groupBudgetRoutes(path, (app) =>
    byKey(app, 'budgets', 'Admin keys belong to no account. Use a standard key.'),
  )

/** The same under /console/api, for the session's account. */
export const consoleGroupBudgetRoutes: FastifyPluginAsyncTypebox = groupBudgetRoutes('/budgets', (app) =>
  bySession(app, 'usage', 'limits'),
)

function groupBudgetRoutes(
  path: string,
  accessOf: (app: FastifyInstance) => EditorAccess,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    const { groupBudgets, throttleAccount, clock } = app.accounts
    const { allowances } = app.billing.reports
    const { requester, hooks, changing, schema, record } = accessOf(app)

    const views = async (accountId: string, groups: SpentGroup[]): Promise<GroupBudgetView[]> => {
      const budgets = groups.map(({ scope, id, limitReset }) => {
        return { scope, accountId, id, period: allowancePeriod(limitReset, clock()) }
      })
      // Without Redis no call is admitted; the ledger still has the spending.
      const known = await allowances(budgets).catch(() => [])
      return groups.map((group, index) => view(group, budgets[index]!.period, known[index] ?? null))
    }
    const view = (group: SpentGroup, period: AllowancePeriod, known: bigint | null): GroupBudgetView => {
      const { scope, value, tag, limitPico, limitReset, spentPico } = group
      const left = known ?? (limitPico ?? 0n) - spentPico
      return {
        ...{ object: 'budget', scope, value, tag },
        limit_usd: formatUsdOrNull(limitPico),
        limit_reset: limitReset,
        is_default: group.hasLimitOfRule,
        used_usd: formatUsd(spentPico),
        requests: group.calls,
        remaining_usd: limitPico === null ? null : formatUsd(left < 0n ? 0n : left),
        resets_at: isoTimeOrNull(period.endsAt),
        keys: group.keys,
      }
    }

    const listing = {
      ...schema,
      summary: 'Budgets of projects, tags and end users',
      response: { 200: GroupBudgetList },
    }
    app.get(path, { ...hooks, schema: listing }, async (request) => {
      const { accountId } = requester(request)
      const data = await views(accountId, await groupBudgets.list(accountId))
      return { object: 'list' as const, data }
    })

    const setting = {
      ...schema,
      summary: 'Create or change a budget',
      body: GroupBudgetBody,
      response: { 200: GroupBudgetView },
    }
    app.post(path, { ...changing, schema: setting }, async (request) => {
      const { accountId } = requester(request)
      const change = readChange(request.body)
      const { scope, value, limitPico, limitReset } = change
      await throttleAccount('key-edit', accountId)
      const id = await groupBudgets.set(accountId, change)
      const limits = { limit_usd: formatUsdOrNull(limitPico), limit_reset: limitReset }
      await record(request, 'budget.set', value ?? scope, { scope, value, ...limits })
      const [set] = await views(accountId, await groupBudgets.list(accountId, { scope, id }))
      if (!set) throw invalid('value', 'This budget was just deleted.')
      return set
    })

    const deleting = {
      ...schema,
      summary: 'Delete a budget',
      querystring: GroupBudgetQuery,
      response: { 200: GroupBudgetDeleted },
    }
    app.delete(path, { ...changing, schema: deleting }, async (request) => {
      const { accountId } = requester(request)
      const { scope, value = null } = request.query
      await throttleAccount('key-edit', accountId)
      await groupBudgets.remove(accountId, { scope, value })
      await record(request, 'budget.deleted', value ?? scope, { scope, value })
      return { object: 'budget' as const, scope, value, deleted: true as const }
    })
  }
}

/** Throws ApiError for a combination that names no budget. */
function readChange({ scope, value = null, tag, ...body }: GroupBudgetBody): GroupBudgetChange {
  if (scope === 'project' && value === null) throw invalid('value', 'Name the project in `value`.')
  const isRuleOfTag = scope === 'tag' && value === null
  if (isRuleOfTag !== (tag !== undefined))
    throw invalid(
      'tag',
      'Name the member of `metadata` in `tag` for scope `tag` without `value`, and only there.',
    )
  return {
    ...{ scope, value, tag: tag ?? null },
    limitPico: readUsd(body.limit_usd),
    limitReset: body.limit_reset ?? 'monthly',
  }
}

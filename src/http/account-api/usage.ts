import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from 'typebox'
import {
  CALLS_BY_GROUP_MAX,
  type UsageReport,
  type UsageRow,
  type UsageSums,
} from '../../billing/reports/usage-store.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { USAGE_GROUPS, type UsageGroup, UsageView } from '../../core/api/usage.ts'
import { isGroupScope } from '../../core/billing/group-scopes.ts'
import { TIME_RANGE, type TimeRange, timeRange } from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { asCsv, csvLine } from '../csv.ts'
import { byReadingKey, bySession, type ReportAccess } from './account-access.ts'
import { REPORT_FORMAT, reportFormat } from './report-format.ts'

const ROWS_MAX = 10_000
/** These are read call by call. */
const DAYS_BY_GROUP_MAX = 31

/** GET /v1/usage: calls, tokens and cost of an account by one of USAGE_GROUPS, as JSON or CSV. */
export const usageRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) =>
    registerRoute(app, path, byReadingKey(app))

/** The same under /console/api, for the session's account. */
export const consoleUsageRoute: FastifyPluginAsyncTypebox = async (app) =>
  registerRoute(app, '/usage', bySession(app, 'usage'))

function registerRoute(
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  path: string,
  { requester, hooks, slots, query: account }: ReportAccess,
): void {
  const { clock } = app.accounts
  const { reports } = app.billing
  const schema = {
    summary: 'Calls, tokens and cost of an account by day, model, key, project, tag or end user',
    querystring: Type.Object(
      {
        ...TIME_RANGE,
        group_by: Type.Enum([...USAGE_GROUPS], { default: 'day' }),
        ...REPORT_FORMAT,
        ...(account as Record<never, TSchema>),
      },
      CLOSED,
    ),
    response: { 200: UsageView },
  }
  app.get(path, { ...hooks, schema }, async (request, reply) => {
    const { accountId, holder } = requester(request)
    const { group_by: group, ...query } = request.query
    const range = timeRange(query, clock(), isGroupScope(group) ? DAYS_BY_GROUP_MAX : undefined)
    const format = reportFormat(request)
    return slots.run(holder, async () => {
      const usage = await reports.usage.usage(accountId, range, group, ROWS_MAX)
      if (usage === null)
        throw new ApiError(
          'invalid_request',
          isGroupScope(group)
            ? `The period has more than ${CALLS_BY_GROUP_MAX} calls. Choose a shorter one.`
            : `The result has more than ${ROWS_MAX} rows. Choose a shorter period.`,
        )
      return format === 'csv'
        ? asCsv(reply, `usage-by-${group}`).send(usageCsv(usage, group))
        : usageView(usage, range, group)
    })
  })
}

const usageView = (usage: UsageReport, range: TimeRange, group: UsageGroup): UsageView => ({
  object: 'usage',
  from: isoTime(range.fromMs),
  to: isoTime(range.toMs),
  group_by: group,
  data: usage.rows.map((row) => rowView(row, group)),
  total: sumsView(usage.total),
})

const rowView = (row: UsageRow, by: UsageGroup) => ({ ...groupView(row, by), ...sumsView(row) })

function groupView({ group, keyName, isOther }: UsageRow, by: UsageGroup) {
  switch (by) {
    case 'day':
      return { day: group }
    case 'model':
      return { model: group }
    case 'key':
      return { key_id: group, key_name: keyName }
    default:
      return { [by]: group || null, is_other: isOther }
  }
}

/** Counts are exact as JSON numbers up to 2^53, far above a year's tokens of any account; money is text. */
const sumsView = ({ calls, promptTokens, completionTokens, chargePico }: UsageSums) => ({
  calls: Number(calls),
  prompt_tokens: Number(promptTokens),
  completion_tokens: Number(completionTokens),
  total_tokens: Number(promptTokens + completionTokens),
  cost_usd: formatUsd(chargePico),
})

const NO_CALLS = { calls: 0n, promptTokens: 0n, completionTokens: 0n, chargePico: 0n }

/** The rows without their total, so that a sum over the file's column counts each value once. */
function usageCsv({ rows }: UsageReport, by: UsageGroup): string {
  const head = Object.keys(rowView({ group: '', keyName: null, isOther: false, ...NO_CALLS }, by))
  const lines = rows.map((row) => csvLine(Object.values(rowView(row, by))))
  return csvLine(head) + lines.join('')
}

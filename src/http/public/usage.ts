import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Reports } from '../../billing/reports/reports.ts'
import type { Usage as StoredUsage, UsageRow, UsageSums } from '../../billing/reports/usage-store.ts'
import { Usage } from '../../core/api/public-api.ts'
import {
  TIME_RANGE,
  type TimeRange,
  timeRange,
  USAGE_GROUPS,
  type UsageGroup,
} from '../../core/billing/usage-query.ts'
import { csvLine } from '../../core/kernel/csv.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd, picoUsd } from '../../core/kernel/money.ts'
import { ACCOUNT_ID, accountToRead, askingKey, refuseOtherAccount } from '../asking-account.ts'
import { asCsv, ReportFormat, reportFormat } from '../report-format.ts'
import { createSlots, REPORTS_OF_KEY } from '../slots.ts'

const UsageQuery = Type.Object(
  {
    ...TIME_RANGE,
    group_by: Type.Enum([...USAGE_GROUPS], { default: 'day' }),
    format: ReportFormat,
    ...ACCOUNT_ID,
  },
  { additionalProperties: false },
)

interface UsageDependencies {
  reports: Pick<Reports, 'usage'>
  clock: () => number
}
const ROWS_MAX = 10_000
const REPORTS_MAX = 8
const REPORTS_PER_KEY_MAX = 2

/** GET /v1/usage: calls, tokens and cost of an account by day, model or key, as JSON or CSV. */
export const usageRoute =
  (path: string): FastifyPluginAsyncTypebox<UsageDependencies> =>
  async (app, { reports, clock }) => {
    const slots = createSlots({ max: REPORTS_MAX, maxPerHolder: REPORTS_PER_KEY_MAX, ...REPORTS_OF_KEY })

    const options = {
      onRequest: [app.requireKey],
      preValidation: refuseOtherAccount,
      schema: {
        summary: 'Calls, tokens and cost of an account by day, model or key',
        querystring: UsageQuery,
        response: { 200: Usage },
      },
    }
    app.get(path, options, async (request, reply) => {
      const { query } = request
      const key = askingKey(request)
      const accountId = accountToRead(key, query)
      const range = timeRange(query, clock())
      const group = query.group_by
      const format = reportFormat(request, query.format)

      return slots.run(key.keyId, async () => {
        const usage = await sumUsage(reports, accountId, range, group)
        reply.header('cache-control', 'no-store')
        if (format === 'csv') return asCsv(reply, `usage-by-${group}`).send(usageCsv(usage, group))
        return { object: 'usage', ...usageView(usage, range, group) }
      })
    })
  }

/** Sums an account's calls. Throws ApiError where that is more than can be shown. */
export async function sumUsage(
  reports: Pick<Reports, 'usage'>,
  accountId: string,
  range: TimeRange,
  group: UsageGroup,
): Promise<StoredUsage> {
  const usage = await reports.usage.usage(accountId, range, group, ROWS_MAX)
  if (usage === null)
    throw new ApiError('invalid_request', `More than ${ROWS_MAX} rows. Ask for a shorter span of time.`)
  return usage
}

/** Sums of usage as their owner sees them. */
export const usageView = (usage: StoredUsage, range: TimeRange, group: UsageGroup) => ({
  from: new Date(range.fromMs).toISOString(),
  to: new Date(range.toMs).toISOString(),
  group_by: group,
  data: usage.rows.map((row) => ({ ...groupView(row, group), ...sumsView(row) })),
  total: sumsView(usage.total),
})

function groupView({ group, keyName }: UsageRow, by: UsageGroup): Record<string, string | null> {
  switch (by) {
    case 'day':
      return { day: group }
    case 'model':
      return { model: group }
    case 'key':
      return { key_id: group, key_name: keyName }
  }
}

/** Counts are exact as JSON numbers up to 2^53, which no account's tokens of a year come near; money is text. */
const sumsView = ({ calls, promptTokens, completionTokens, chargePico }: UsageSums) => ({
  calls: Number(calls),
  prompt_tokens: Number(promptTokens),
  completion_tokens: Number(completionTokens),
  total_tokens: Number(promptTokens + completionTokens),
  cost_usd: formatUsd(picoUsd(chargePico)),
})

/** The rows without their total: a sum over the file's column must not count everything twice. */
function usageCsv({ rows }: StoredUsage, by: UsageGroup): string {
  const empty: UsageRow = {
    group: '',
    keyName: null,
    calls: 0n,
    promptTokens: 0n,
    completionTokens: 0n,
    chargePico: 0n,
  }
  const head = Object.keys({ ...groupView(empty, by), ...sumsView(empty) })
  const lines = rows.map((row) => csvLine(Object.values({ ...groupView(row, by), ...sumsView(row) })))
  return csvLine(head) + lines.join('')
}

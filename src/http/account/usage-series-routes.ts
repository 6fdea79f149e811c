import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import {
  PERIOD_BEFORE,
  type UsageCell,
  type UsageFigures,
  WHOLE_PERIOD,
} from '../../billing/reports/usage-series-store.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import {
  USAGE_INTERVALS,
  USAGE_SERIES_GROUPS,
  USAGE_STACKS_MAX,
  type UsageFiguresView,
  UsageSeriesView,
} from '../../core/api/usage.ts'
import { bucketStarts } from '../../core/billing/time-buckets.ts'
import { TIME_RANGE, type TimeRange } from '../../core/billing/usage-query.ts'
import { startBefore, TIME_ZONE, zonedTimeRange } from '../../core/billing/zoned-time-range.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { formatUsd, picoUsd } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { bySession } from '../account-api/account-access.ts'
import { asCsv, csvLine } from '../csv.ts'
import { createWindowLimit } from '../window-limit.ts'

/** The hours of a month, or the days of a year. */
const BUCKETS_MAX = 800
const CELLS_MAX = 20_000
const NAME_LENGTH_MAX = 300

const Query = Type.Object(
  {
    ...TIME_RANGE,
    interval: Type.Enum([...USAGE_INTERVALS], { default: 'day' }),
    group_by: Type.Enum([...USAGE_SERIES_GROUPS], { default: 'model' }),
    ...TIME_ZONE,
    model: Type.Optional(Type.String({ maxLength: NAME_LENGTH_MAX })),
    key_id: Type.Optional(Type.String({ maxLength: NAME_LENGTH_MAX })),
  },
  CLOSED,
)

/** Of the answer to a page; the download has all. */
const GROUPS_MAX = 1_000

/** Per account; a page requests a few. */
const READS_PER_MINUTE = 120

/** Usage and cost of an account's calls over time, by model, key or member, as JSON and as a download. */
export const usageSeriesRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { clock } = app.accounts
  const { reports, consoleSlots } = app.billing
  const { requester, hooks } = bySession(app, 'usage')
  // Computing the buckets of a year takes some milliseconds of the processor before any query.
  const reads = createWindowLimit({
    max: READS_PER_MINUTE,
    windowMs: 60_000,
    refusal: 'This account reads its usage very often. Wait, then retry.',
    clock,
  })

  const read = async (
    request: FastifyRequest & { query: Static<typeof Query> },
    top: number | null,
  ): Promise<UsageSeries> => {
    const { accountId, holder } = requester(request)
    reads.take(accountId)
    const { interval, group_by: group, time_zone: timeZone = 'UTC', model, key_id: keyId } = request.query
    const range = zonedTimeRange(request.query, clock())
    const starts = bucketStarts(range, interval, timeZone, BUCKETS_MAX)
    if (starts === null) throw invalid('interval', 'Choose a longer interval or a shorter period.')
    const filter = { ...(model !== undefined && { model }), ...(keyId !== undefined && { keyId }) }
    const query = { accountId, range, beforeMs: startBefore(range, timeZone), starts, group, top, ...filter }
    const cells = await consoleSlots.run(holder, () => reports.series.series(query, CELLS_MAX))
    if (cells === null)
      throw new ApiError(
        'invalid_request',
        `The result has more than ${CELLS_MAX} values. Choose a shorter period.`,
      )
    return { range, starts, cells }
  }

  const asJson = { querystring: Query, response: { 200: UsageSeriesView } }
  app.get('/usage/series', { ...hooks, schema: asJson }, async (request): Promise<UsageSeriesView> => {
    const { interval, group_by, time_zone = 'UTC' } = request.query
    const { range, ...series } = await read(request, USAGE_STACKS_MAX)
    return {
      ...{ from: isoTime(range.fromMs), to: isoTime(range.toMs), interval, time_zone, group_by },
      ...seriesView(series),
    }
  })

  const asDownload = {
    querystring: Query,
    response: { 200: Type.Unsafe<unknown>({ content: { 'text/csv': { schema: Type.String() } } }) },
  }
  app.get('/usage/series.csv', { ...hooks, schema: asDownload }, async (request, reply) => {
    const { interval, group_by: group } = request.query
    const series = await read(request, null)
    return asCsv(reply, `usage-by-${interval}-and-${group}`).send(seriesCsv(series, interval, group))
  })
}

interface UsageSeries {
  range: TimeRange
  starts: readonly number[]
  cells: readonly UsageCell[]
}

function seriesView({ cells, starts }: Omit<UsageSeries, 'range'>) {
  const totals = cells.filter(({ group }) => group === null)
  const total = (of: number) => figuresView(totals.find(({ bucket }) => bucket === of) ?? NO_USAGE)
  const groups = cells
    .filter(({ bucket, group }) => bucket === WHOLE_PERIOD && group !== null)
    .toSorted((a, b) => Number(b.chargePico - a.chargePico))
  return {
    total: total(WHOLE_PERIOD),
    total_before: total(PERIOD_BEFORE),
    starts: starts.map(isoTime),
    stacks: stacksOf(cells, starts.length),
    buckets: totals
      .filter(({ bucket }) => bucket >= 0)
      .map((cell) => ({ at: isoTime(starts[cell.bucket]!), ...figuresView(cell) })),
    groups: groups
      .slice(0, GROUPS_MAX)
      .map(({ group, name, ...figures }) => ({ group: group ?? '', name, ...figuresView(figures) })),
    groups_count: groups.length,
  }
}

/** The groups that have cells, with a value for every bucket. */
function stacksOf(cells: readonly UsageCell[], buckets: number): UsageSeriesView['stacks'] {
  const stacks = new Map<string, UsageSeriesView['stacks'][number]>()
  for (const { bucket, group, ...figures } of cells) {
    if (bucket < 0 || group === null) continue
    const empty = {
      total_tokens: Array(buckets).fill(0),
      cost_usd: Array(buckets).fill(formatUsd(NO_USAGE.chargePico)),
    }
    const stack = stacks.get(group) ?? { group, ...empty }
    stacks.set(group, stack)
    stack.total_tokens[bucket] = Number(figures.promptTokens + figures.completionTokens)
    stack.cost_usd[bucket] = formatUsd(figures.chargePico)
  }
  return [...stacks.values()]
}

const NO_USAGE: UsageFigures = {
  ...{ calls: 0n, failed: 0n, promptTokens: 0n, completionTokens: 0n, chargePico: picoUsd(0n) },
  ...{ firstTokenMs: null, firstTokenP95Ms: null, durationMs: null },
}

const figuresView = (figures: UsageFigures): UsageFiguresView => ({
  calls: Number(figures.calls),
  prompt_tokens: Number(figures.promptTokens),
  completion_tokens: Number(figures.completionTokens),
  total_tokens: Number(figures.promptTokens + figures.completionTokens),
  cost_usd: formatUsd(figures.chargePico),
  failed_calls: Number(figures.failed),
  first_token_ms: figures.firstTokenMs,
  first_token_p95_ms: figures.firstTokenP95Ms,
  duration_ms: figures.durationMs,
})

const FIGURES = [
  'calls',
  'failed_calls',
  'prompt_tokens',
  'completion_tokens',
  'cost_usd',
  'first_token_ms',
  'duration_ms',
] as const

/** The columns of a group in the file: its id and, if it has one, its name. */
const GROUP_COLUMNS: Record<UsageSeriesView['group_by'], string[]> = {
  model: ['model'],
  key: ['key_id', 'key_name'],
  member: ['member_id', 'member_email'],
}

/** The cells without totals, so that a sum over the file's column counts each value once. */
function seriesCsv(
  { cells, starts }: UsageSeries,
  interval: string,
  group: UsageSeriesView['group_by'],
): string {
  const names = GROUP_COLUMNS[group]
  const lines = cells.map((cell) => {
    if (cell.bucket < 0 || cell.group === null) return ''
    const figures = figuresView(cell)
    return csvLine([
      isoTime(starts[cell.bucket]!),
      cell.group,
      ...(names.length > 1 ? [cell.name] : []),
      ...FIGURES.map((name) => figures[name]),
    ])
  })
  return csvLine([interval, ...names, ...FIGURES]) + lines.join('')
}

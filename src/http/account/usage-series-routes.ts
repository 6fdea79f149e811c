import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { UsageCell, UsageFigures } from '../../billing/reports/usage-series-store.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import {
  USAGE_INTERVALS,
  USAGE_SERIES_GROUPS,
  type UsageFiguresView,
  UsageSeriesView,
} from '../../core/api/usage.ts'
import { bucketStarts } from '../../core/billing/time-buckets.ts'
import { TIME_RANGE, type TimeRange } from '../../core/billing/usage-query.ts'
import { TIME_ZONE, zonedTimeRange } from '../../core/billing/zoned-time-range.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { formatUsd } from '../../core/kernel/money.ts'
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

/** With every figure of each cell. */
type WholeSeries = Omit<UsageSeriesView, 'cells'> & {
  cells: Array<UsageFiguresView & { at: string; group: string; name: string | null }>
}

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

  const read = async (request: FastifyRequest & { query: Static<typeof Query> }): Promise<WholeSeries> => {
    const { accountId, holder } = requester(request)
    reads.take(accountId)
    const { interval, group_by: group, time_zone: timeZone = 'UTC', model, key_id: keyId } = request.query
    const range = zonedTimeRange(request.query, clock())
    const starts = bucketStarts(range, interval, timeZone, BUCKETS_MAX)
    if (starts === null) throw invalid('interval', 'Choose a longer interval or a shorter period.')
    const filter = { ...(model !== undefined && { model }), ...(keyId !== undefined && { keyId }) }
    const query = { accountId, range, starts, group, ...filter }
    const cells = await consoleSlots.run(holder, () => reports.series.series(query, CELLS_MAX))
    if (cells === null)
      throw new ApiError(
        'invalid_request',
        `The result has more than ${CELLS_MAX} values. Choose a shorter period.`,
      )
    return {
      ...rangeView(range),
      interval,
      time_zone: timeZone,
      group_by: group,
      ...seriesView(cells, starts),
    }
  }

  const asJson = { querystring: Query, response: { 200: UsageSeriesView } }
  app.get('/usage/series', { ...hooks, schema: asJson }, async (request): Promise<UsageSeriesView> => {
    const { cells, ...series } = await read(request)
    const stacked = cells.map(({ at, group, total_tokens, cost_usd }) => ({
      at,
      group,
      total_tokens,
      cost_usd,
    }))
    return { ...series, cells: stacked }
  })

  const asDownload = {
    querystring: Query,
    response: { 200: Type.Unsafe<unknown>({ content: { 'text/csv': { schema: Type.String() } } }) },
  }
  app.get('/usage/series.csv', { ...hooks, schema: asDownload }, async (request, reply) => {
    const { interval, group_by: group } = request.query
    return asCsv(reply, `usage-by-${interval}-and-${group}`).send(seriesCsv(await read(request)))
  })
}

const rangeView = ({ fromMs, toMs }: TimeRange) => ({ from: isoTime(fromMs), to: isoTime(toMs) })

function seriesView(cells: readonly UsageCell[], starts: readonly number[]) {
  const at = ({ bucket }: UsageCell) => isoTime(starts[bucket ?? 0] ?? 0)
  const group = ({ group: id, name }: UsageCell) => ({ group: id ?? '', name })
  const total = cells.find((cell) => cell.bucket === null && cell.group === null)
  if (!total) throw new Error('the sums of the usage returned no row')
  return {
    starts: starts.map(isoTime),
    cells: cells
      .filter((cell) => cell.bucket !== null && cell.group !== null)
      .map((cell) => ({ at: at(cell), ...group(cell), ...figuresView(cell) })),
    buckets: cells
      .filter((cell) => cell.bucket !== null && cell.group === null)
      .map((cell) => ({ at: at(cell), ...figuresView(cell) })),
    groups: cells
      .filter((cell) => cell.bucket === null && cell.group !== null)
      .map((cell) => ({ ...group(cell), ...figuresView(cell) })),
    total: figuresView(total),
  }
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
function seriesCsv({ interval, group_by: group, cells }: WholeSeries): string {
  const names = GROUP_COLUMNS[group]
  const lines = cells.map((cell) =>
    csvLine([
      cell.at,
      cell.group,
      ...(names.length > 1 ? [cell.name] : []),
      ...FIGURES.map((name) => cell[name]),
    ]),
  )
  return csvLine([interval, ...names, ...FIGURES]) + lines.join('')
}

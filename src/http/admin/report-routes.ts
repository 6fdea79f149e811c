import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { GatewayHour, MarginSums } from '../../billing/reports/margin-store.ts'
import { GatewayHoursView, LedgerView, type MarginMetrics, MarginView } from '../../core/api/billing.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { TIME_RANGE, timeRange } from '../../core/billing/usage-query.ts'
import { formatRate, formatUsd, picoUsdPerToken } from '../../core/kernel/money.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { HOUR_MS, isoTime } from '../../core/kernel/time.ts'
import { askingOperator, operatorRoute } from '../plugins/operator-access.ts'
import { reportSlots } from '../slots.ts'

const MarginQuery = Type.Object(
  {
    ...TIME_RANGE,
    group_by: Type.Enum(['model', 'provider', 'day', 'account'], { default: 'model' }),
    sort: Type.Enum(['revenue', 'cost', 'margin'], { default: 'revenue' }),
    limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 1_000 }),
    /** How many rows came before. */
    cursor: Type.Integer({ minimum: 0, maximum: 1e9, default: 0 }),
  },
  CLOSED,
)
const REPORTS_MAX = 2
/** As many as a chart has colours for. */
const DAY_MODELS_MAX = 7

const HOURS = 24

/** GET /margin: revenue, cost and margin; GET /hours: the last day by the hour; GET /ledger: the sums of the ledger's accounts. */
export const reportRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { margin, sumLedger } = app.billing
  const { directory, hostClock: clock } = app.operators
  const slots = reportSlots(REPORTS_MAX, REPORTS_MAX)
  const once = createSingleFlight()

  const ofMargin = operatorRoute('read', MarginView, { querystring: MarginQuery })
  app.get('/margin', ofMargin, async (request) => {
    const { group_by: groupBy, sort, limit, cursor: after } = request.query
    const range = timeRange(request.query, clock())
    return slots.run(askingOperator(request).actor, async () => {
      const [found, days] = await Promise.all([
        margin.margin(range, groupBy, { sort, after, limit }),
        after === 0 ? margin.days(range, DAY_MODELS_MAX) : [],
      ])
      const names =
        groupBy === 'account'
          ? await directory.names(found.rows.map(({ group }) => group))
          : new Map<string, string>()
      return {
        object: 'margin' as const,
        from: isoTime(range.fromMs),
        to: isoTime(range.toMs),
        group_by: groupBy,
        data: found.rows.map(({ group, ...sums }) => ({
          group,
          name: names.get(group) ?? null,
          ...marginMetrics(sums),
        })),
        next_cursor: found.hasMore ? String(after + limit) : null,
        total: marginMetrics(found.total),
        days: days.map(({ marginPico, ...named }) => ({ ...named, margin_usd: formatUsd(marginPico) })),
      }
    })
  })

  app.get('/hours', operatorRoute('read', GatewayHoursView), async () => {
    const fromMs = (Math.floor(clock() / HOUR_MS) - HOURS + 1) * HOUR_MS
    const known = new Map((await margin.hours(fromMs)).map((hour) => [hour.hourMs, gatewaySums(hour)]))
    const none = gatewaySums({
      ...{ calls: 0, failed: 0 },
      revenuePico: 0n,
      marginPico: 0n,
      firstTokenP95Ms: null,
    })
    return {
      object: 'hours' as const,
      data: Array.from({ length: HOURS }, (_, index) => {
        const hourMs = fromMs + index * HOUR_MS
        return { at: isoTime(hourMs), ...(known.get(hourMs) ?? none) }
      }),
      total: known.get(null) ?? none,
    }
  })

  app.get('/ledger', operatorRoute('read', LedgerView), async () => {
    const sums = await once('ledger', sumLedger)
    return {
      object: 'ledger' as const,
      at: isoTime(clock()),
      data: sums.map(({ ledgerAccount, accounts, entries, balancePico }) => ({
        ledger_account: ledgerAccount,
        accounts,
        entries,
        balance_usd: formatUsd(balancePico),
      })),
      total_usd: formatUsd(sums.reduce((total, { balancePico }) => total + balancePico, 0n)),
    }
  })
}

const gatewaySums = ({ failed, revenuePico, marginPico, ...hour }: Omit<GatewayHour, 'hourMs'>) => ({
  calls: hour.calls,
  failed_calls: failed,
  revenue_usd: formatUsd(revenuePico),
  margin_usd: formatUsd(marginPico),
  first_token_p95_ms: hour.firstTokenP95Ms,
})

const RATE_GRAIN = 10_000n

function marginMetrics(sums: MarginSums): MarginMetrics {
  const { revenuePico, costPico, brokenPico, cacheableTokens, uncachedPromptPico, cacheSavedPico } = sums
  const marginPico = revenuePico - costPico - brokenPico
  const rate = (part: bigint, of: bigint) =>
    of === 0n ? null : Number((part * RATE_GRAIN) / of) / Number(RATE_GRAIN)
  return {
    calls: Number(sums.calls),
    prompt_tokens: Number(sums.promptTokens),
    completion_tokens: Number(sums.completionTokens),
    revenue_usd: formatUsd(revenuePico),
    cost_usd: formatUsd(costPico),
    broken_cost_usd: formatUsd(brokenPico),
    margin_usd: formatUsd(marginPico),
    margin_rate: rate(marginPico, revenuePico),
    cache_hit_rate: rate(sums.cachedTokens, cacheableTokens),
    effective_prompt:
      cacheableTokens === 0n
        ? null
        : formatRate(picoUsdPerToken((uncachedPromptPico - cacheSavedPico) / cacheableTokens)),
    cache_saved_usd: formatUsd(cacheSavedPico),
  }
}

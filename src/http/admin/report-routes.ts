import type { FastifyPluginAsync } from 'fastify'
import type { MarginSums } from '../../billing/reports/margin-store.ts'
import type { LedgerView, MarginFigures, MarginView } from '../../core/api/billing.ts'
import {
  type QueryParameters,
  readChoice,
  readTimeRange,
  refuseUnknown,
} from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd, picoUsd } from '../../core/kernel/money.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { askingKey } from '../asking-account.ts'
import { createSlots, REPORTS_OF_KEY } from '../slots.ts'
import type { OperatorServices } from './operator-services.ts'

const ROWS_MAX = 1_000
const REPORTS_MAX = 2

/** GET /margin: revenue, cost and what is left; GET /ledger: the sums of the ledger's accounts. */
export const reportRoutes: FastifyPluginAsync<OperatorServices> = async (app, services) => {
  const { margin, sumLedger, clock } = services
  const slots = createSlots({ max: REPORTS_MAX, maxPerHolder: REPORTS_MAX, ...REPORTS_OF_KEY })
  const once = createSingleFlight()

  app.get('/margin', async (request): Promise<MarginView> => {
    const query = request.query as QueryParameters
    refuseUnknown(query, ['from', 'to', 'group_by'])
    const range = readTimeRange(query, clock())
    const groupBy = readChoice(query, 'group_by', ['model', 'provider', 'day'], 'model')
    return slots.run(askingKey(request).keyId, async () => {
      const found = await margin.margin(range, groupBy, ROWS_MAX)
      if (!found)
        throw new ApiError('invalid_request', `More than ${ROWS_MAX} rows. Ask for a shorter span of time.`)
      return {
        object: 'margin',
        from: new Date(range.fromMs).toISOString(),
        to: new Date(range.toMs).toISOString(),
        group_by: groupBy,
        data: found.rows.map(({ group, ...sums }) => ({ group, ...marginFigures(sums) })),
        total: marginFigures(found.total),
      }
    })
  })

  app.get('/ledger', async (): Promise<LedgerView> => {
    const sums = await once('ledger', sumLedger)
    return {
      object: 'ledger',
      at: new Date(clock()).toISOString(),
      data: sums.map(({ ledgerAccount, accounts, entries, balancePico }) => ({
        ledger_account: ledgerAccount,
        accounts,
        entries,
        balance_usd: formatUsd(picoUsd(balancePico)),
      })),
      total_usd: formatUsd(picoUsd(sums.reduce((total, { balancePico }) => total + balancePico, 0n))),
    }
  })
}

const RATE_GRAIN = 10_000n

function marginFigures(sums: MarginSums): MarginFigures {
  const { revenuePico, costPico, brokenPico } = sums
  const marginPico = revenuePico - costPico - brokenPico
  return {
    calls: Number(sums.calls),
    prompt_tokens: Number(sums.promptTokens),
    completion_tokens: Number(sums.completionTokens),
    revenue_usd: formatUsd(picoUsd(revenuePico)),
    cost_usd: formatUsd(picoUsd(costPico)),
    broken_cost_usd: formatUsd(picoUsd(brokenPico)),
    margin_usd: formatUsd(picoUsd(marginPico)),
    margin_rate:
      revenuePico === 0n ? null : Number((marginPico * RATE_GRAIN) / revenuePico) / Number(RATE_GRAIN),
  }
}

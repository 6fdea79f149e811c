import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import {
  formatLedgerCursor,
  type LedgerLine,
  positionAfter,
  readLedgerCursor,
  topUpOf,
} from '../../../billing/ledger/ledger-list-store.ts'
import type { Statement } from '../../../billing/ledger/statement-store.ts'
import { BillingView, LedgerRow, StatementView } from '../../../core/api/billing.ts'
import { Page } from '../../../core/api/shared.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { formatUsd } from '../../../core/kernel/money.ts'
import { isoDay, isoTime, nextMonthMs } from '../../../core/kernel/time.ts'
import { bySession } from '../../account-api/account-access.ts'
import { topUpOptions } from '../../account-api/top-ups.ts'
import { PageQuery, pageOf } from '../../page.ts'
import { actingOn } from '../../plugins/session.ts'
import { balanceView } from '../account-view.ts'

/** Lines of a statement: models of each day, and movements. */
const LINES_MAX = 5_000

/** The balance, the options of a top-up, and the ledger, for the account's holder. */
export const billingRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { holds, ledger, readStatement, consoleSlots } = app.billing
  const { requester, hooks } = bySession(app, 'billing')
  const options = topUpOptions(app.billing)

  app.get('/billing', { ...hooks, schema: { response: { 200: BillingView } } }, async (request) => ({
    ...(await balanceView(actingOn(request).account, holds)),
    ...options,
  }))

  const listing = { querystring: PageQuery, response: { 200: Page(LedgerRow) } }
  app.get('/ledger', { ...hooks, schema: listing }, async (request) => {
    const { accountId, holder } = requester(request)
    const { limit, cursor } = request.query
    const after = readLedgerCursor(cursor)
    return consoleSlots.run(holder, async () =>
      pageOf(await ledger.page(accountId, after, limit + 1), limit, ledgerRow, (shown) =>
        formatLedgerCursor(positionAfter(shown, after)),
      ),
    )
  })

  const reading = { params: Month, response: { 200: StatementView } }
  app.get('/statements/:month', { ...hooks, schema: reading }, async (request) => {
    const { accountId, holder } = requester(request)
    const { month } = request.params
    const fromMs = Date.parse(`${month}-01T00:00:00Z`)
    const span = { fromMs, toMs: nextMonthMs(fromMs) }
    const statement = await consoleSlots.run(holder, () => readStatement(accountId, span, LINES_MAX))
    if (!statement)
      throw new ApiError(
        'invalid_request',
        `This month has more than ${LINES_MAX} lines. Export the calls instead.`,
      )
    return statementView(month, statement)
  })
}

const Month = Type.Object({
  month: Type.String({
    pattern: '^20\\d{2}-(0[1-9]|1[0-2])$',
    errorMessage: '`month` takes a month such as 2027-01.',
  }),
})

function statementView(
  month: string,
  { openingPico, closingPico, charges, movements }: Statement,
): StatementView {
  return {
    month,
    opening_usd: formatUsd(openingPico),
    closing_usd: formatUsd(closingPico),
    charges: charges.map(({ day, amountPico, ...charge }) => ({
      ...charge,
      day: isoDay(day),
      amount_usd: formatUsd(amountPico),
    })),
    charges_usd: formatUsd(charges.reduce((sum, { amountPico }) => sum + amountPico, 0n)),
    movements_usd: formatUsd(movements.reduce((sum, { amountPico }) => sum + amountPico, 0n)),
    movements: movements.map(ledgerRow),
  }
}

function ledgerRow(line: LedgerLine): LedgerRow {
  const both = { amount_usd: formatUsd(line.amountPico), at: isoTime(line.at) }
  if (line.type === 'charges') {
    const day = isoDay(line.day)
    return {
      ...both,
      id: `charges/${day}`,
      kind: 'charges',
      day,
      calls: line.calls,
      top_up_id: null,
      note: null,
    }
  }
  return {
    ...both,
    id: `${line.id}/${line.kind}`,
    kind: line.kind,
    day: null,
    calls: null,
    top_up_id: topUpOf(line),
    note: line.note,
  }
}

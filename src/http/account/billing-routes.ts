import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from 'typebox'
import type { LedgerLine } from '../../billing/ledger/ledger-list-store.ts'
import { positionAfter } from '../../billing/ledger/ledger-list-store.ts'
import { BillingView, LedgerRow, type RailName, TopUpView } from '../../core/api/billing.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import { formatLedgerCursor, readLedgerCursor } from '../../core/billing/ledger-cursor.ts'
import { TOP_UP_PRESETS_USD, type TopUpLimits } from '../../core/billing/top-up-amount.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd, parseUsd } from '../../core/kernel/money.ts'
import { DAY_MS, isoTime } from '../../core/kernel/time.ts'
import type { Payment } from '../../payments/payment-store.ts'
import { OfId } from '../of-id.ts'
import { openTopUp, readTopUp } from '../open-top-up.ts'
import { paymentView, railMethod } from '../payment-view.ts'
import { signedIn } from '../plugins/session.ts'
import { createSlots } from '../slots.ts'
import { balanceView } from './account-view.ts'
import type { ConsoleDependencies } from './console-routes.ts'

const PageQuery = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
    cursor: Type.Optional(Type.String()),
  },
  CLOSED,
)
/** `readTopUp` validates the values. */
const TopUpFields = Type.Object(
  { amount_usd: Type.Optional(Type.Unknown()), rail: Type.Optional(Type.Unknown()) },
  CLOSED,
)
/** Checkouts opened at a time, of one instance and of one account: each waits for a rail. */
const OPENING_MAX = 50
const OPENING_PER_ACCOUNT_MAX = 3

/** The balance and what moved it: top-ups with their receipts, and the ledger as the account's holder reads it. */
export const billingRoutes: FastifyPluginAsyncTypebox<ConsoleDependencies> = async (app, deps) => {
  const { console, topUps, limits } = deps
  const range: TopUpLimits = {
    minPico: parseUsd(limits.topUpMinUsd),
    maxPico: parseUsd(limits.topUpMaxUsd),
  }
  const rails = [...topUps.rails.keys()].map(railMethod)
  const opening = createSlots({
    max: OPENING_MAX,
    maxPerHolder: OPENING_PER_ACCOUNT_MAX,
    holderIsFull: 'This account has top-ups being opened. Wait for one of them.',
    allTaken: 'Too many top-ups at once. Retry shortly.',
  })
  const ofSession = { onRequest: [app.requireSession] }

  app.get('/billing', { ...ofSession, schema: { response: { 200: BillingView } } }, async (request) => {
    const { account } = signedIn(request)
    return {
      ...(await balanceView(account, console.gate)),
      presets_usd: [...TOP_UP_PRESETS_USD],
      min_usd: formatUsd(range.minPico),
      max_usd: formatUsd(range.maxPico),
      rails: rails as RailName[],
    }
  })

  const creating = { ...ofSession, schema: { body: TopUpFields, response: { 201: TopUpView } } }
  app.post('/top-ups', creating, async (request, reply) => {
    const { account } = signedIn(request)
    const { rail, amountPico } = readTopUp(request.body, range, rails)
    return opening.run(account.id, async () => {
      const payment = await openTopUp(topUps, account.id, rail, amountPico)
      return reply.code(201).send(topUpView(payment, account.email))
    })
  })

  const pageOf = <T extends TSchema>(item: T) => ({
    ...ofSession,
    schema: { querystring: PageQuery, response: { 200: Page(item) } },
  })
  app.get('/top-ups', pageOf(TopUpView), async (request) => {
    const { account } = signedIn(request)
    const { limit, cursor: before } = request.query
    const found = await topUps.payments.list({
      accountId: account.id,
      ...(before !== undefined && { before }),
      limit: limit + 1,
    })
    const shown = found.slice(0, limit)
    return {
      data: shown.map((payment) => topUpView(payment, account.email)),
      next_cursor: found.length > limit ? (shown.at(-1)?.id ?? null) : null,
    }
  })

  const named = { ...ofSession, schema: { params: OfId, response: { 200: TopUpView } } }
  app.get('/top-ups/:id', named, async (request) => {
    const { account } = signedIn(request)
    const payment = await topUps.payments.find(request.params.id)
    if (payment?.accountId !== account.id)
      throw new ApiError('not_found', 'This account has no top-up of that id.')
    return topUpView(payment, account.email)
  })

  app.get('/ledger', pageOf(LedgerRow), async (request) => {
    const { account } = signedIn(request)
    const { limit } = request.query
    const after = readLedgerCursor(request.query)
    return deps.consoleSlots.run(account.id, async () => {
      const found = await console.ledger.page(account.id, after, limit + 1)
      const shown = found.slice(0, limit)
      const hasMore = found.length > limit
      return {
        data: shown.map(ledgerRow),
        next_cursor: hasMore ? formatLedgerCursor(positionAfter(shown, after)) : null,
      }
    })
  })
}

function topUpView(payment: Payment, email: string): TopUpView {
  const { payment_id: id, ...view } = paymentView(payment)
  const rail = view.rail as RailName
  const { settledAt, amountPico, returnedPico, disputedPico } = payment
  const takenBackPico = returnedPico + disputedPico
  return {
    id,
    ...view,
    rail,
    receipt: settledAt && {
      number: id,
      issued_at: isoTime(settledAt),
      email,
      description: 'Prepaid balance for API usage',
      paid_usd: formatUsd(amountPico),
      refunded_usd: formatUsd(takenBackPico),
      net_usd: formatUsd(amountPico - takenBackPico),
      method: rail,
    },
  }
}

function ledgerRow(line: LedgerLine): LedgerRow {
  const both = { amount_usd: formatUsd(line.amountPico), at: isoTime(line.at) }
  if (line.type === 'charges') {
    const day = isoTime(line.day * DAY_MS).slice(0, '2027-01-31'.length)
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
  // Movements of a top-up are named `<top-up>` and `<top-up>/<number>`.
  const [owner = ''] = line.id.split('/')
  return {
    ...both,
    id: `${line.id}/${line.kind}`,
    kind: line.kind,
    day: null,
    calls: null,
    top_up_id: owner.startsWith('pay_') ? owner : null,
    note: line.note,
  }
}

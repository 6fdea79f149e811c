import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { accountName } from '../../accounts/account-store.ts'
import {
  newTopUpBody,
  type RailName,
  TopUp,
  type TopUpOptions,
  TopUpPage,
  TopUpView,
  topUpAmountWording,
} from '../../core/api/billing.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import type { PaymentRailName } from '../../core/billing/postings.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { formatUsd, parseUsd } from '../../core/kernel/money.ts'
import { readTopUpAmount, TOP_UP_PRESETS_USD } from '../../core/payments/top-up-amount.ts'
import type { Payments } from '../../payments/create-payments.ts'
import type { Payment } from '../../payments/payment-store.ts'
import { OfId } from '../page.ts'
import { actingOn } from '../plugins/session.ts'
import { createSlots, type SlotsOptions } from '../slots.ts'
import { byKey, bySession, type EditorAccess } from './account-access.ts'

export interface TopUpServices {
  payments: Pick<Payments, 'topUps' | 'payments' | 'rails'>
  limits: { topUpMinUsd: string; topUpMaxUsd: string }
}

/** Concurrently opened checkouts of one instance: each waits for a rail. */
const OPENING_MAX = 50

/** POST and GET /billing/topups, GET /billing/topups/{id}: an account opens top-ups and reads their state. */
export const topUpRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const access = byKey(app, 'top_ups', 'Admin keys have no balance. Use a standard key.')
  registerRoutes(app, '/billing/topups', access, { shown: TopUp, more: () => ({}), opening: {} })
}

/** The same under /console/api, with receipts, for the session's account. */
export const consoleTopUpRoutes: FastifyPluginAsyncTypebox = async (app) =>
  registerRoutes(app, '/top-ups', bySession(app, 'billing'), {
    shown: TopUpView,
    more: (payment, request) => ({ receipt: receiptOf(payment, accountName(actingOn(request).account)) }),
    opening: {
      maxPerHolder: 3,
      holderIsFull: 'This account has top-ups being opened. Wait for one of them.',
    },
  })

interface TopUpRoutes {
  shown: typeof TopUp | typeof TopUpView
  /** What is shown besides the public JSON. */
  more(payment: Payment, request: FastifyRequest): object
  /** Limits of concurrently opened checkouts of one account. */
  opening: Pick<SlotsOptions, 'maxPerHolder' | 'holderIsFull'>
}

function registerRoutes(
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  path: string,
  { requester, hooks, schema, record }: EditorAccess,
  { shown, more, opening: ofHolder }: TopUpRoutes,
): void {
  const { topUps, payments } = app.billing.payments
  const options = topUpOptions(app.billing)
  const range = { minPico: parseUsd(options.min_usd), maxPico: parseUsd(options.max_usd) }
  const slots = createSlots({
    max: OPENING_MAX,
    allTaken: 'Too many top-ups at once. Retry shortly.',
    ...ofHolder,
  })

  const view = (payment: Payment, request: FastifyRequest) => ({
    ...paymentView(payment),
    ...more(payment, request),
  })

  const opening = {
    ...schema,
    summary: 'Open a top-up',
    body: newTopUpBody(options),
    response: { 201: shown },
  }
  app.post(path, { ...hooks, preValidation: objectBody, schema: opening }, async (request, reply) => {
    const { accountId } = requester(request)
    const { rail, amount_usd: given } = request.body
    const amount = readTopUpAmount(given, range)
    if (amount.kind === 'refused') throw invalid('amount_usd', topUpAmountWording(options))
    return slots.run(accountId, async () => {
      const payment = openedPayment(await topUps.open(accountId, railOf(rail), amount.amountPico))
      const { id, amountPico } = payment
      await record(request, 'top_up.opened', id, { amount_usd: formatUsd(amountPico) })
      return reply.code(201).send(view(payment, request))
    })
  })

  const listing = {
    ...schema,
    summary: "The account's top-ups, newest first",
    querystring: Type.Object(
      {
        limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
        /** The last top-up of the page before. */
        before: Type.Optional(Type.String()),
      },
      CLOSED,
    ),
    response: { 200: TopUpPage(shown) },
  }
  app.get(path, { ...hooks, schema: listing }, async (request) => {
    const { accountId } = requester(request)
    const { limit, before } = request.query
    const found = await payments.list({ accountId, ...(before && { before }), limit: limit + 1 })
    return {
      object: 'list' as const,
      data: found.slice(0, limit).map((payment) => view(payment, request)),
      has_more: found.length > limit,
      options,
    }
  })

  const showing = { ...schema, summary: 'One top-up', params: OfId, response: { 200: shown } }
  app.get(`${path}/:id`, { ...hooks, schema: showing }, async (request) => {
    const payment = await payments.find(request.params.id)
    if (payment?.accountId !== requester(request).accountId)
      throw new ApiError('not_found', 'This account has no top-up with this id.')
    return view(payment, request)
  })
}

/** A body other than an object has no fields, so the first missing field is reported. */
async function objectBody(request: FastifyRequest): Promise<void> {
  if (Object(request.body) !== request.body || Array.isArray(request.body)) request.body = {}
}

export const topUpOptions = ({ payments: { rails }, limits }: TopUpServices): TopUpOptions => ({
  presets_usd: [...TOP_UP_PRESETS_USD],
  min_usd: formatUsd(parseUsd(limits.topUpMinUsd)),
  max_usd: formatUsd(parseUsd(limits.topUpMaxUsd)),
  rails: [...rails.keys()].map((rail) => METHODS[rail]),
})

/** The payment of a top-up. Throws ApiError if its rail did not open it. */
function openedPayment(opening: Awaited<ReturnType<Payments['topUps']['open']>>): Payment {
  switch (opening.kind) {
    case 'opened':
      return opening.payment
    case 'no_such_rail':
      throw invalid('rail', 'Unknown payment method in `rail`.')
    case 'too_many_open':
      throw new ApiError(
        'rate_limit_exceeded',
        `This account has ${opening.max} unpaid top-ups. Pay one of them, or wait until they expire.`,
        { retryAfterSeconds: 60 },
      )
    case 'rail_failed':
      throw new ApiError('overloaded', 'The payment page cannot be opened right now. Retry shortly.', {
        retryAfterSeconds: 5,
        cause: opening.cause,
      })
    default:
      return opening satisfies never
  }
}

/** The customers' names of payment methods, by rail. */
const METHODS: Record<PaymentRailName, RailName> = {
  stripe: 'card',
  paypal: 'paypal',
  development: 'development',
}

const railOf = (method: RailName): PaymentRailName => (method === 'card' ? 'stripe' : method)

/** A top-up for its account. */
export const paymentView = (payment: Payment): TopUp =>
  jsonView(TopUp, {
    ...payment,
    paymentId: payment.id,
    rail: METHODS[payment.rail],
    test: payment.rail === 'development',
    automatic: payment.methodId !== null,
    refundedPico: payment.returnedPico,
    checkoutUrl: payment.state === 'pending' ? payment.checkoutUrl : null,
  })

/** The receipt of a payment that was received. */
const receiptOf = (
  { settledAt, amountPico, returnedPico, disputedPico }: Payment,
  billedTo: string,
): TopUpView['receipt'] =>
  settledAt && {
    billed_to: billedTo,
    net_usd: formatUsd(amountPico - returnedPico - disputedPico),
  }

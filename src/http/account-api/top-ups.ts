import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type TObjectOptions, type TSchema, Type } from 'typebox'
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
import { Page } from '../../core/api/shared.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { formatUsd, parseUsd } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import type { PaymentRailName } from '../../core/payments/payment.ts'
import { readTopUpAmount, TOP_UP_PRESETS_USD } from '../../core/payments/top-up-amount.ts'
import type { Payments } from '../../payments/create-payments.ts'
import type { Payment } from '../../payments/payment-store.ts'
import { OfId, pageOf } from '../page.ts'
import { actingOn } from '../plugins/session.ts'
import { createSlots, type SlotsOptions } from '../slots.ts'
import { type AccountAccess, byKey, bySession } from './account-access.ts'
import { createRecordKeyAction } from './record-key-action.ts'

export interface TopUpServices {
  payments: Pick<Payments, 'topUps' | 'payments' | 'rails'>
  limits: { topUpMinUsd: string; topUpMaxUsd: string }
}

/** A group of users of top-ups, and their JSON. */
interface Audience extends AccountAccess {
  /** Limits of concurrently opened checkouts of one account. */
  opening: Pick<SlotsOptions, 'maxPerHolder' | 'holderIsFull'>
  /** Options of the body's schema. */
  body: TObjectOptions
  topUp: TSchema
  viewOf(payment: Payment, request: FastifyRequest): unknown
  /** Called after a checkout was opened. */
  opened(request: FastifyRequest, payment: Payment): Promise<void>
  /** The parameter of a list that names the last top-up of the previous page. */
  cursor: 'before' | 'cursor'
  page: TSchema
  listOf(page: Page<unknown>): unknown
}

/** Concurrently opened checkouts of one instance: each waits for a rail. */
const OPENING_MAX = 50

/** POST and GET /billing/topups, GET /billing/topups/{id}: an account opens top-ups and reads their state. */
export const topUpRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { services } = app
  const record = createRecordKeyAction(services)
  const access = byKey(app, 'top_ups', 'Admin keys have no balance. Use a standard key.')
  const options = topUpOptions(services)
  registerRoutes(app, '/billing/topups', {
    ...access,
    hooks: {
      ...access.hooks,
      // A body other than an object has no fields, so the first missing field is reported.
      preValidation: async (request) => {
        if (Object(request.body) !== request.body || Array.isArray(request.body)) request.body = {}
      },
    },
    opening: {},
    body: {},
    topUp: TopUp,
    viewOf: paymentView,
    opened: (request, { id, amountPico }) =>
      record(request, 'top_up.opened', id, { amount_usd: formatUsd(amountPico) }),
    cursor: 'before',
    page: TopUpPage,
    listOf: ({ next_cursor: _, ...page }) => ({ ...page, options }),
  })
}

/** The same under /console/api, with receipts, for the session's account. */
export const consoleTopUpRoutes: FastifyPluginAsyncTypebox = async (app) =>
  registerRoutes(app, '/top-ups', {
    ...bySession(app, 'billing'),
    opening: {
      maxPerHolder: 3,
      holderIsFull: 'This account has top-ups being opened. Wait for one of them.',
    },
    body: {
      ...CLOSED,
      errorMessage: {
        additionalProperties: '`{param}` is no field here. Known: amount_usd, rail.',
      },
    },
    topUp: TopUpView,
    viewOf: (payment, request) => receiptView(payment, accountName(actingOn(request).account)),
    opened: (request, { id, amountPico }) =>
      app.recordAction(request, 'top_up.opened', id, { amount_usd: formatUsd(amountPico) }),
    cursor: 'cursor',
    page: Page(TopUpView),
    listOf: (page) => page,
  })

type ListQuery = { limit: number; before?: string; cursor?: string }

function registerRoutes(
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  path: string,
  { requester, hooks, schema, ...audience }: Audience,
): void {
  const { services } = app
  const { topUps, payments } = services.payments
  const options = topUpOptions(services)
  const range = { minPico: parseUsd(options.min_usd), maxPico: parseUsd(options.max_usd) }
  const slots = createSlots({
    max: OPENING_MAX,
    allTaken: 'Too many top-ups at once. Retry shortly.',
    ...audience.opening,
  })

  const opening = {
    ...schema,
    summary: 'Open a top-up',
    body: newTopUpBody(options, audience.body),
    response: { 201: audience.topUp },
  }
  app.post(path, { ...hooks, schema: opening }, async (request, reply) => {
    const { accountId } = requester(request)
    const { rail, amount_usd: given } = request.body
    const amount = readTopUpAmount(given, range)
    if (amount.kind === 'refused') throw invalid('amount_usd', topUpAmountWording(options))
    return slots.run(accountId, async () => {
      const payment = openedPayment(await topUps.open(accountId, railOf(rail), amount.amountPico))
      await audience.opened(request, payment)
      return reply.code(201).send(audience.viewOf(payment, request))
    })
  })

  const listing = {
    ...schema,
    summary: "The account's top-ups, newest first",
    querystring: Type.Object(
      {
        limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
        [audience.cursor]: Type.Optional(Type.String()),
      },
      CLOSED,
    ),
    response: { 200: audience.page },
  }
  app.get(path, { ...hooks, schema: listing }, async (request) => {
    const { accountId } = requester(request)
    const { limit, [audience.cursor]: before } = request.query as ListQuery
    const found = await payments.list({ accountId, ...(before && { before }), limit: limit + 1 })
    const view = (payment: Payment) => audience.viewOf(payment, request)
    return audience.listOf(pageOf(found, limit, view, (shown) => shown.at(-1)!.id))
  })

  const showing = { ...schema, summary: 'One top-up', params: OfId, response: { 200: audience.topUp } }
  app.get(`${path}/:id`, { ...hooks, schema: showing }, async (request) => {
    const payment = await payments.find(request.params.id)
    if (payment?.accountId !== requester(request).accountId)
      throw new ApiError('not_found', 'This account has no top-up with this id.')
    return audience.viewOf(payment, request)
  })
}

/** The options of a top-up. */
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

function receiptView(payment: Payment, billedTo: string): TopUpView {
  const { payment_id: id, ...view } = paymentView(payment)
  const { settledAt, amountPico, returnedPico, disputedPico } = payment
  const takenBackPico = returnedPico + disputedPico
  return {
    id,
    ...view,
    receipt: settledAt && {
      number: id,
      issued_at: isoTime(settledAt),
      billed_to: billedTo,
      description: 'Prepaid balance for API usage',
      paid_usd: formatUsd(amountPico),
      refunded_usd: formatUsd(takenBackPico),
      net_usd: formatUsd(amountPico - takenBackPico),
      method: view.rail,
    },
  }
}

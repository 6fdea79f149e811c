import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { TopUp, TopUpPage } from '../../core/api/public-api.ts'
import { TOP_UP_PRESETS_USD, type TopUpLimits } from '../../core/billing/top-up-amount.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd, parseUsd } from '../../core/kernel/money.ts'
import type { TopUps } from '../../payments/create-top-ups.ts'
import { OfId } from '../of-id.ts'
import { openTopUp, readTopUp } from '../open-top-up.ts'
import { paymentView, railMethod } from '../payment-view.ts'
import type { StandardKey } from '../plugins/authenticate.ts'
import { createSlots } from '../slots.ts'

const PATH = '/billing/topups'
const PAGE_DEFAULT = 20
const PAGE_MAX = 100
/** Checkouts opened at a time, of one instance: each waits for a rail. */
const OPENING_MAX = 50

const TopUpsQuery = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: PAGE_DEFAULT }),
    before: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)

export interface TopUpServices {
  topUps: TopUps
  limits: { topUpMinUsd: string; topUpMaxUsd: string }
}

/** POST and GET /billing/topups, GET /billing/topups/{id}: an account fills its balance and sees how it did. */
export const topUpRoutes: FastifyPluginAsyncTypebox<TopUpServices> = async (app, { topUps, limits }) => {
  const range: TopUpLimits = {
    minPico: parseUsd(limits.topUpMinUsd),
    maxPico: parseUsd(limits.topUpMaxUsd),
  }
  const opening = createSlots({ max: OPENING_MAX, allTaken: 'Too many top-ups at once. Retry shortly.' })
  const options = {
    presets_usd: [...TOP_UP_PRESETS_USD],
    min_usd: formatUsd(range.minPico),
    max_usd: formatUsd(range.maxPico),
    rails: [...topUps.rails.keys()].map(railMethod),
  }

  const opened = { summary: 'Open a top-up: `amount_usd` and `rail`', response: { 201: TopUp } }
  app.post(PATH, { onRequest: [app.requireKey], schema: opened }, async (request, reply) => {
    const { accountId } = payingKey(request)
    const { amountPico, rail } = readTopUp(request.body, range, options.rails)
    return opening.run(accountId, async () => {
      const payment = await openTopUp(topUps, accountId, rail, amountPico)
      return reply.code(201).header('cache-control', 'no-store').send(paymentView(payment))
    })
  })

  const listing = {
    onRequest: [app.requireKey],
    preValidation: async (request: FastifyRequest) => void payingKey(request),
    schema: {
      summary: "The account's top-ups, newest first",
      querystring: TopUpsQuery,
      response: { 200: TopUpPage },
    },
  }
  app.get(PATH, listing, async (request, reply) => {
    const { accountId } = payingKey(request)
    const { limit, before } = request.query
    const found = await topUps.payments.list({ accountId, ...(before && { before }), limit: limit + 1 })
    const shown = found.slice(0, limit)
    reply.header('cache-control', 'no-store')
    return { object: 'list' as const, data: shown.map(paymentView), has_more: found.length > limit, options }
  })

  const showing = { summary: 'One top-up', params: OfId, response: { 200: TopUp } }
  app.get(`${PATH}/:id`, { onRequest: [app.requireKey], schema: showing }, async (request, reply) => {
    const { accountId } = payingKey(request)
    const payment = await topUps.payments.find(request.params.id)
    if (payment?.accountId !== accountId)
      throw new ApiError('not_found', 'This account has no top-up of that id.')
    reply.header('cache-control', 'no-store')
    return paymentView(payment)
  })
}

function payingKey({ key }: FastifyRequest): StandardKey {
  if (key?.kind === 'standard' && key.accountId !== null) return key as StandardKey
  throw new ApiError('not_permitted', 'Admin keys have no balance. Use a standard key.')
}

import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { TOP_UP_PRESETS_USD, type TopUpLimits } from '../../core/billing/top-up-amount.ts'
import { type QueryParameters, readCount, refuseUnknown } from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd, parseUsd } from '../../core/kernel/money.ts'
import type { AppDependencies } from '../app.ts'
import { openTopUp, readTopUp } from '../open-top-up.ts'
import { paymentView, railMethod } from '../payment-view.ts'
import type { StandardKey } from '../plugins/authenticate.ts'
import { createSlots } from '../slots.ts'

const PATH = '/billing/topups'
const PAGE_DEFAULT = 20
const PAGE_MAX = 100
/** Checkouts opened at a time, of one instance: each waits for a rail. */
const OPENING_MAX = 50

/** POST and GET /billing/topups, GET /billing/topups/{id}: an account fills its balance and sees how it did. */
export const topUpRoutes: FastifyPluginAsync<Pick<AppDependencies, 'topUps' | 'limits'>> = async (
  app,
  { topUps, limits },
) => {
  const range: TopUpLimits = {
    minPico: parseUsd(limits.topUpMinUsd),
    maxPico: parseUsd(limits.topUpMaxUsd),
  }
  const opening = createSlots({ max: OPENING_MAX, allTaken: 'Too many top-ups at once. Retry shortly.' })
  const options = {
    presets_usd: TOP_UP_PRESETS_USD,
    min_usd: formatUsd(range.minPico),
    max_usd: formatUsd(range.maxPico),
    rails: [...topUps.rails.keys()].map(railMethod),
  }

  app.post(PATH, { onRequest: [app.requireKey] }, async (request, reply) => {
    const { accountId } = payingKey(request)
    const { amountPico, rail } = readTopUp(request.body, range, options.rails)
    return opening.run(accountId, async () => {
      const payment = await openTopUp(topUps, accountId, rail, amountPico)
      return reply.code(201).header('cache-control', 'no-store').send(paymentView(payment))
    })
  })

  app.get(PATH, { onRequest: [app.requireKey] }, async (request, reply) => {
    const { accountId } = payingKey(request)
    const query = request.query as QueryParameters
    refuseUnknown(query, ['limit', 'before'])
    const limit = readCount(query, 'limit', PAGE_DEFAULT, PAGE_MAX)
    const before = typeof query.before === 'string' ? { before: query.before } : {}
    const found = await topUps.payments.list({ accountId, ...before, limit: limit + 1 })
    const shown = found.slice(0, limit)
    reply.header('cache-control', 'no-store')
    return { object: 'list', data: shown.map(paymentView), has_more: found.length > limit, options }
  })

  app.get<{ Params: { id: string } }>(
    `${PATH}/:id`,
    { onRequest: [app.requireKey] },
    async (request, reply) => {
      const { accountId } = payingKey(request)
      const payment = await topUps.payments.find(request.params.id)
      if (payment?.accountId !== accountId)
        throw new ApiError('not_found', 'This account has no top-up of that id.')
      reply.header('cache-control', 'no-store')
      return paymentView(payment)
    },
  )
}

function payingKey({ key }: FastifyRequest): StandardKey {
  if (key?.kind === 'standard' && key.accountId !== null) return key as StandardKey
  throw new ApiError('not_permitted', 'Admin keys have no balance. Use a standard key.')
}

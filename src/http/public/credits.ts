import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { Credits, ExtendedCredits } from '../../core/api/billing.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { ACCOUNT_ID, byReadingKey } from '../account-api/account-access.ts'
import { createSlots } from '../slots.ts'

const READS_MAX = 100
const READS_PER_ACCOUNT_MAX = 10

/** GET /v1/credits: an account's credits, its usage, and what it can spend, exactly; at /v2 also as numbers. */
export const creditsRoute =
  (path: string, { isExtended }: Pick<Surface, 'isExtended'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { reports } = app.billing
    const slots = createSlots({
      max: READS_MAX,
      maxPerHolder: READS_PER_ACCOUNT_MAX,
      holderIsFull: 'This account has requests for credits running. Wait for one to end.',
      allTaken: 'Too many requests for credits at once. Retry shortly.',
    })

    const { requester, hooks } = byReadingKey(app)
    const schema = {
      summary: 'Credits, usage and spendable balance of an account',
      querystring: Type.Object(ACCOUNT_ID, CLOSED),
      response: { 200: isExtended ? ExtendedCredits : Credits },
    }
    app.get(path, { ...hooks, schema }, async (request) => {
      const { accountId, holder } = requester(request)
      return slots.run(holder, async () => {
        const credits = await reports.credits.find(accountId)
        if (credits === null) throw new ApiError('not_found', 'There is no account with this id.')
        const data = {
          total_credits: formatUsd(credits.totalCreditsPico),
          total_usage: formatUsd(credits.totalUsagePico),
          available: formatUsd(credits.availablePico),
        }
        if (!isExtended) return { data }
        const { total_credits: total_credits_usd, total_usage: total_usage_usd, available } = data
        const numbers = { total_credits: Number(total_credits_usd), total_usage: Number(total_usage_usd) }
        return { data: { ...numbers, total_credits_usd, total_usage_usd, available } }
      })
    })
  }

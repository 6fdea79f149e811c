import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Reports } from '../../billing/reports/reports.ts'
import { Credits } from '../../core/api/public-api.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd, picoUsd } from '../../core/kernel/money.ts'
import { ACCOUNT_ID, accountToRead, askingKey, refuseOtherAccount } from '../asking-account.ts'
import { createSlots } from '../slots.ts'

const READS_MAX = 100
const READS_PER_KEY_MAX = 10

/** GET /v1/credits: what an account was credited, has used, and can spend now. USD as decimal strings, exact. */
export const creditsRoute =
  (path: string): FastifyPluginAsyncTypebox<{ reports: Pick<Reports, 'credits'> }> =>
  async (app, { reports }) => {
    const slots = createSlots({
      max: READS_MAX,
      maxPerHolder: READS_PER_KEY_MAX,
      holderIsFull: 'This key has requests for credits running. Wait for one to end.',
      allTaken: 'Too many requests for credits at once. Retry shortly.',
    })

    const options = {
      onRequest: [app.requireKey],
      preValidation: refuseOtherAccount,
      schema: {
        summary: 'What an account was credited, has used and can spend',
        querystring: Type.Object(ACCOUNT_ID, { additionalProperties: false }),
        response: { 200: Credits },
      },
    }
    app.get(path, options, async (request, reply) => {
      const key = askingKey(request)
      const accountId = accountToRead(key, request.query)
      return slots.run(key.keyId, async () => {
        const credits = await reports.credits.find(accountId)
        if (credits === null) throw new ApiError('not_found', 'There is no account of that id.')
        reply.header('cache-control', 'no-store')
        return {
          data: {
            total_credits: usd(credits.totalCreditsPico),
            total_usage: usd(credits.totalUsagePico),
            available: usd(credits.availablePico),
          },
        }
      })
    })
  }

const usd = (amountPico: bigint): string => formatUsd(picoUsd(amountPico))

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Reports } from '../../billing/reports/reports.ts'
import { GenerationDetail } from '../../core/api/public-api.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { callCreatedAt } from '../../core/kernel/ids.ts'
import { askingKey, callReader } from '../asking-account.ts'
import { callView, isRescued, ownKeyFailures } from '../call-view.ts'
import { OfId } from '../of-id.ts'
import { createSlots } from '../slots.ts'

/** Lookups may wait for a settlement, so they are bounded; each but reads by primary key. */
const LOOKUPS_MAX = 500
const LOOKUPS_PER_KEY_MAX = 100

/** GET /v1/generations/{id}: what became of a call of the key's account, and what it cost. */
export const generationsRoute =
  (path: string): FastifyPluginAsyncTypebox<{ reports: Pick<Reports, 'findCall'> }> =>
  async (app, { reports }) => {
    const slots = createSlots({
      max: LOOKUPS_MAX,
      maxPerHolder: LOOKUPS_PER_KEY_MAX,
      holderIsFull: 'This key has look-ups running. Wait for one to end.',
      allTaken: 'This gateway runs as many look-ups as it can. Retry shortly.',
    })

    const schema = {
      summary: 'One call: tokens, cost, rates, timings',
      params: OfId,
      response: { 200: GenerationDetail },
    }
    app.get(path, { onRequest: [app.requireKey], schema }, async (request, reply) => {
      const key = askingKey(request)
      const { id } = request.params
      if (callCreatedAt(id) === null) throw unknownCall()
      return slots.run(key.keyId, async () => {
        const found = await reports.findCall(id, key.accountId)
        switch (found.kind) {
          case 'settled':
            reply.header('cache-control', 'no-store')
            return {
              ...callView(found.call, callReader(key)),
              rescued: isRescued(found.call),
              provider_key_failures: ownKeyFailures(found.call, callReader(key)),
            }
          case 'unsettled':
            throw new ApiError('not_found', 'This call is not settled yet. Ask again shortly.', {
              retryAfterSeconds: 1,
              shouldRetry: true,
            })
          case 'unknown':
            throw unknownCall()
          default:
            return found satisfies never
        }
      })
    })
  }

const unknownCall = (): ApiError =>
  new ApiError('not_found', 'This account has no call of that id. Send the `id` of an answer.')

import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyPluginAsync } from 'fastify'
import type { KeyLimits } from '../../accounts/key-limit-store.ts'
import type { StoredKey } from '../../accounts/key-store.ts'
import type { OperatorKey } from '../../core/api/keys.ts'
import { allowancePeriod, LIMIT_RESETS } from '../../core/billing/allowance-period.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { type Fields, readFields, readUsd, readWord } from '../account/read-body.ts'
import { keyView } from './account-views.ts'
import { doDeed } from './deed.ts'
import type { OperatorServices } from './operator-services.ts'
import { RATE_LIMIT_FIELDS, rateLimitDetails, readRateLimits } from './read-rate-limits.ts'

interface Named {
  Params: { id: string }
}

const LIMIT_FIELDS = ['limit_usd', 'limit_reset', ...RATE_LIMIT_FIELDS]
/** By then every instance has heard of a change of a key. */
const KNOWN_EVERYWHERE_MS = 1_200

/** Keys: revoked, and given other limits. */
export const keyRoutes: FastifyPluginAsync<OperatorServices> = async (app, services) => {
  const { keys, setKeyLimits, forgetAllowance, announce, clock } = services

  const find = async (keyId: string): Promise<StoredKey> => {
    const key = await keys.find(keyId)
    if (!key) throw new ApiError('not_found', 'There is no such key.')
    return key
  }

  app.post<Named>('/keys/:id/revoke', async (request): Promise<OperatorKey> => {
    const { id } = await find(request.params.id)
    await doDeed(request, { action: 'key.revoke', target: id, details: {} }, services, () =>
      keys.revoke(id, new Date(clock())).then(() => announce({ keyId: id })),
    )
    return keyView(await find(id))
  })

  app.post<Named>('/keys/:id/limits', async (request): Promise<OperatorKey> => {
    const before = await find(request.params.id)
    const { id, accountId } = before
    const limits = readLimits(readFields(request.body, LIMIT_FIELDS))
    if (accountId === null || before.state === 'revoked')
      throw new ApiError('invalid_request', 'Only a key of an account that is in use has limits.')
    const change = async (): Promise<void> => {
      if (!(await setKeyLimits(id, limits))) throw new ApiError('not_found', 'This key was just revoked.')
      await announce({ keyId: id })
      // What is left of the limit is computed anew from the books: now, and again when no instance can have
      // computed it from the limit of before.
      const resets = [before.limitReset, limits.limitReset ?? before.limitReset]
      const forget = () =>
        Promise.all(
          resets.map((reset) => forgetAllowance({ keyId: id, accountId }, allowancePeriod(reset, clock()))),
        )
      await forget()
      await delay(KNOWN_EVERYWHERE_MS)
      await forget()
    }
    await doDeed(request, { action: 'key.limits', target: id, details: detailsOf(limits) }, services, () =>
      change(),
    )
    return keyView(await find(id))
  })
}

function readLimits(fields: Fields): KeyLimits {
  if (Object.keys(fields).length === 0)
    throw new ApiError('invalid_request', `Send at least one of ${LIMIT_FIELDS.join(', ')}.`)
  const limits: KeyLimits = readRateLimits(fields)
  if ('limit_usd' in fields) limits.limitPico = readUsd(fields, 'limit_usd')
  if ('limit_reset' in fields) limits.limitReset = readWord(fields, 'limit_reset', LIMIT_RESETS, 'none')
  return limits
}

const detailsOf = ({ limitPico, limitReset, ...rates }: KeyLimits) => ({
  ...(limitPico !== undefined && { limit_usd: limitPico === null ? null : formatUsd(limitPico) }),
  ...(limitReset !== undefined && { limit_reset: limitReset }),
  ...rateLimitDetails(rates),
})

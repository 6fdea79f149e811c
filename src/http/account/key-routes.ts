import type { FastifyPluginAsync } from 'fastify'
import type { KeyBounds, NewKey, StoredKey } from '../../accounts/key-store.ts'
import type { KeyActivity } from '../../billing/reports/key-activity-store.ts'
import { keyLimits, type LimitDefaults } from '../../core/accounts/rate-limits.ts'
import type { CreatedKey, KeyList, KeyView } from '../../core/api/keys.ts'
import { allowancePeriod, LIMIT_RESETS } from '../../core/billing/allowance-period.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { signedIn } from '../plugins/session.ts'
import { timeOrNull, usd, usdOrNull } from './account-view.ts'
import type { ConsoleDependencies } from './console-routes.ts'
import { readFields, readFuture, readString, readUsd, readWholeNumber, readWord } from './read-body.ts'

const NAME_LENGTH_MAX = 100
const BOUNDS: KeyBounds = { active: 200, inAll: 1_000 }
const FIELDS = ['name', 'limit_usd', 'limit_reset', 'expires_at', 'requests_per_minute', 'concurrent_calls']

/** The API keys of the account that is signed in: shown once when created, and by a hint afterwards. */
export const keyRoutes: FastifyPluginAsync<ConsoleDependencies> = async (app, deps) => {
  const { keyStore, keyActivity, announce } = deps.console
  const { limits } = deps
  const clock = deps.clock
  const ofSession = { onRequest: [app.requireSession] }

  const viewsOf = async (keys: readonly StoredKey[]): Promise<KeyView[]> => {
    const nowMs = clock()
    const asked = keys.map((key) => ({ keyId: key.id, period: allowancePeriod(key.limitReset, nowMs) }))
    const activity = await keyActivity.activity(asked)
    return keys.map((key) => keyView(key, limits, activity.get(key.id), nowMs))
  }
  const viewOf = async (key: StoredKey): Promise<KeyView> => {
    const [view] = await viewsOf([key])
    if (!view) throw new Error('a key has no view')
    return view
  }

  app.get('/keys', ofSession, async (request): Promise<KeyList> => {
    const { account } = signedIn(request)
    const keys = await keyStore.list(account.id)
    return {
      data: await viewsOf(keys),
      defaults: {
        requests_per_minute: limits.requestsPerMinute,
        concurrent_calls: limits.concurrentCalls,
        tokens_per_minute: limits.tokensPerMinute,
        account_requests_per_minute: account.requestsPerMinute ?? limits.accountRequestsPerMinute,
        account_concurrent_calls: account.concurrentCalls ?? limits.accountConcurrentCalls,
      },
    }
  })

  app.post('/keys', ofSession, async (request, reply) => {
    const settings = readNewKey(request.body, limits, clock())
    const accountId = signedIn(request).account.id
    const creation = await keyStore.createWithin(accountId, settings, BOUNDS)
    if (creation.kind !== 'created') throw tooManyKeys(creation.kind)
    const { key, secret } = creation
    return reply.code(201).send({ secret, key: await viewOf(key) } satisfies CreatedKey)
  })

  app.post<{ Params: { id: string } }>('/keys/:id/revoke', ofSession, async (request) => {
    const accountId = signedIn(request).account.id
    const found = await keyStore.find(request.params.id)
    if (found?.accountId !== accountId) throw new ApiError('not_found', 'This account has no key of that id.')
    const revoked = await keyStore.revoke(found.id, new Date(clock()))
    // Without the announcement instances learn of it late, so this failing fails the request; repeating it is safe.
    await announce({ keyId: found.id })
    return viewOf(revoked ?? found)
  })
}

const tooManyKeys = (kind: 'too-many-active' | 'too-many'): ApiError =>
  new ApiError(
    'invalid_request',
    kind === 'too-many-active'
      ? `An account has ${BOUNDS.active} keys at most. Revoke one first.`
      : `This account has made ${BOUNDS.inAll} keys. Ask the operator.`,
  )

/** What a customer may ask for a key: no more requests or calls than the operator grants every key. */
function readNewKey(body: unknown, limits: LimitDefaults, nowMs: number): NewKey {
  const fields = readFields(body, FIELDS)
  const limitPico = readUsd(fields, 'limit_usd')
  const limitReset = readWord(fields, 'limit_reset', LIMIT_RESETS, 'none')
  if (limitReset !== 'none' && limitPico === null)
    throw new ApiError('invalid_request', '`limit_reset` goes with `limit_usd`.', { param: 'limit_reset' })
  return {
    name: readString(fields, 'name', 0, NAME_LENGTH_MAX).trim(),
    limitPico,
    limitReset,
    expiresAt: readFuture(fields, 'expires_at', nowMs),
    requestsPerMinute: null,
    concurrentCalls: null,
    customerRequestsPerMinute: readWholeNumber(fields, 'requests_per_minute', limits.requestsPerMinute),
    customerConcurrentCalls: readWholeNumber(fields, 'concurrent_calls', limits.concurrentCalls),
  }
}

function keyView(
  key: StoredKey,
  defaults: LimitDefaults,
  activity: KeyActivity | undefined,
  nowMs: number,
): KeyView {
  const { requestsPerMinute, concurrentCalls } = keyLimits(key, defaults)
  const spentPico = activity?.spentPico ?? 0n
  const leftPico = key.limitPico === null ? null : key.limitPico - spentPico
  const { endsAt } = allowancePeriod(key.limitReset, nowMs)
  const lastUsedAt = activity?.lastUsedAt ?? null
  return {
    id: key.id,
    name: key.name,
    hint: `${key.prefix}…${key.suffix}`,
    state:
      key.state === 'active' && key.expiresAt && key.expiresAt.getTime() <= nowMs ? 'expired' : key.state,
    limit_usd: usdOrNull(key.limitPico),
    limit_reset: key.limitReset,
    spent_usd: usd(spentPico),
    remaining_usd: leftPico === null ? null : usd(leftPico < 0n ? 0n : leftPico),
    resets_at: endsAt === null ? null : new Date(endsAt).toISOString(),
    requests_per_minute: requestsPerMinute,
    concurrent_calls: concurrentCalls,
    expires_at: timeOrNull(key.expiresAt),
    created_at: key.createdAt.toISOString(),
    revoked_at: timeOrNull(key.revokedAt),
    last_used_at: lastUsedAt === null ? null : new Date(lastUsedAt).toISOString(),
  }
}

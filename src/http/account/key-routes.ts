import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { KeyBounds, KeyStore, NewKey, StoredKey } from '../../accounts/key-store.ts'
import type { KeyActivity, KeyActivityStore } from '../../billing/reports/usage-store.ts'
import { keyLimits, type LimitDefaults } from '../../core/accounts/api-key.ts'
import {
  CreatedKey,
  EXPIRY_WORDING,
  KeyList,
  KeyView,
  type NewKeyBody,
  newKeyBody,
} from '../../core/api/keys.ts'
import { allowancePeriod } from '../../core/billing/allowance-period.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { isoTime, isoTimeOrNull } from '../../core/kernel/time.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import { OfId } from '../page.ts'
import { signedIn } from '../plugins/session.ts'
import { readUsd } from '../read-usd.ts'

export interface KeyServices {
  keys: KeyStore
  keyActivity: KeyActivityStore
  /** Tells every instance that a key changed. */
  announce: (change: KeyChange) => Promise<void>
  limits: LimitDefaults & { tokensPerMinute: number }
  clock: () => number
}

const BOUNDS: KeyBounds = { active: 200, inAll: 1_000 }

/** The API keys of the account that is signed in: shown once when created, and by a hint afterwards. */
export const keyRoutes: FastifyPluginAsyncTypebox<KeyServices> = async (app, services) => {
  const { keys: keyStore, keyActivity, announce, limits, clock } = services
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

  app.get('/keys', { ...ofSession, schema: { response: { 200: KeyList } } }, async (request) => {
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

  const creating = { ...ofSession, schema: { body: newKeyBody(limits), response: { 201: CreatedKey } } }
  app.post('/keys', creating, async (request, reply) => {
    const settings = readNewKey(request.body, clock())
    const accountId = signedIn(request).account.id
    const creation = await keyStore.createWithin(accountId, settings, BOUNDS)
    if (creation.kind !== 'created') throw tooManyKeys(creation.kind)
    const { key, secret } = creation
    return reply.code(201).send({ secret, key: await viewOf(key) })
  })

  const revoking = { ...ofSession, schema: { params: OfId, response: { 200: KeyView } } }
  app.post('/keys/:id/revoke', revoking, async (request) => {
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

function readNewKey(body: NewKeyBody, nowMs: number): NewKey {
  const limitPico = readUsd(body.limit_usd)
  const limitReset = body.limit_reset ?? 'none'
  if (limitReset !== 'none' && limitPico === null)
    throw new ApiError('invalid_request', '`limit_reset` goes with `limit_usd`.', { param: 'limit_reset' })
  return {
    name: body.name.trim(),
    limitPico,
    limitReset,
    expiresAt: readExpiry(body.expires_at ?? null, nowMs),
    requestsPerMinute: null,
    concurrentCalls: null,
    customerRequestsPerMinute: body.requests_per_minute ?? null,
    customerConcurrentCalls: body.concurrent_calls ?? null,
  }
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

function readExpiry(text: string | null, nowMs: number): Date | null {
  if (text === null) return null
  const at = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at <= nowMs)
    throw new ApiError('invalid_request', EXPIRY_WORDING, { param: 'expires_at' })
  return new Date(at)
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
  return {
    id: key.id,
    name: key.name,
    hint: `${key.prefix}…${key.suffix}`,
    state:
      key.state === 'active' && key.expiresAt && key.expiresAt.getTime() <= nowMs ? 'expired' : key.state,
    limit_usd: key.limitPico === null ? null : formatUsd(key.limitPico),
    limit_reset: key.limitReset,
    spent_usd: formatUsd(spentPico),
    remaining_usd: leftPico === null ? null : formatUsd(leftPico < 0n ? 0n : leftPico),
    resets_at: isoTimeOrNull(endsAt),
    requests_per_minute: requestsPerMinute,
    concurrent_calls: concurrentCalls,
    expires_at: isoTimeOrNull(key.expiresAt),
    created_at: isoTime(key.createdAt),
    revoked_at: isoTimeOrNull(key.revokedAt),
    last_used_at: isoTimeOrNull(activity?.lastUsedAt),
  }
}

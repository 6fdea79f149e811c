import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import { LRUCache } from 'lru-cache'
import type { KeyCache, KeyLookup, KeyRecord, StandardKey } from '../../accounts/key-cache.ts'
import type { RateLimited, RateState } from '../../billing/holds/admission.ts'
import { effectiveLimits, type LimitDefaults } from '../../core/accounts/api-key.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { whenResponseCloses } from '../calls/event-stream.ts'
import { createLimitedCallers } from '../limited-callers.ts'
import { isMessagesClient } from './messages-wire.ts'

export interface AuthenticateOptions {
  keys: Pick<KeyCache, 'lookup'>
  limits: LimitDefaults & Omit<RefusedRequestsOptions, 'clock'> & { tokensPerMinute: number }
  clock: () => number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that authenticated this request; null before authentication and on routes without it. */
    key: KeyRecord | null
    /** The key that this request was sent with, also one that may not be used. Absent: none that exists. */
    sentKey?: KeyRecord | null
    /**
     * Records the key's rate limits from the balance cache for the response headers, and a refusal for `refuseLimited`.
     */
    noteRate(rate: RateState, limited?: RateLimited | null): void
    /** Throws ApiError 429 if the balance cache would refuse any call of the key for its rate limits. */
    refuseLimited(): void
    /**
     * Counts work for an account that no call pays for, and its bytes, with its refused requests. Throws ApiError 429 if
     * there were too many.
     */
    meter(accountId: string, bytes: number): void
    /** The request became a call, so what `meter` counted is given back. */
    unmeter(): void
    /** Time of authentication, unix ms. */
    askedAtMs: number
    /** The rate-limit headers of the key; empty before authentication. */
    rateHeaders(): Record<string, string>
  }
  interface FastifyInstance {
    /** An onRequest hook: 401 or 403 unless the request has a valid key. */
    requireKey(request: FastifyRequest, reply: FastifyReply): Promise<void>
    /** Bounds the requests of a key's account in flight. Throws ApiError 429 for too many of them, or too many refused ones. */
    boundRequests(key: KeyRecord, reply: FastifyReply): void
    /** The same as `requireKey` for a path of the messages wire under /v1, whose key may be in `x-api-key`; under /v2 that is `requireKey`. */
    requireMessagesKey(request: FastifyRequest, reply: FastifyReply): Promise<void>
  }
}

const KEYS_REMEMBERED = 10_000

/** A key's rate limits from the balance cache, and the time of the reading (unix ms). */
type SeenRate = RateState & { seenAt: number }

/** Key authentication, and the rate-limit headers of every authenticated response. */
export const authenticate = plugin<AuthenticateOptions>(
  async (app, { keys, limits, clock }) => {
    const refused = createRefusedRequests({ ...limits, clock })
    const callers = createLimitedCallers({ limits, clock })
    const lastSeen = new LRUCache<string, SeenRate>({ max: KEYS_REMEMBERED })

    app.decorateRequest('key', null)
    app.decorateRequest('sentKey', null)
    app.decorateRequest('askedAtMs', 0)
    app.decorateRequest(
      'noteRate',
      function (this: FastifyRequest, rate: RateState, limited?: RateLimited | null) {
        if (!this.key) return
        lastSeen.set(this.key.keyId, { ...rate, seenAt: clock() })
        if (limited) callers.note(this.key, limited, this.askedAtMs)
      },
    )
    app.decorateRequest('refuseLimited', function (this: FastifyRequest) {
      if (this.key) callers.check(this.key)
    })

    const metered = new WeakMap<FastifyRequest, { accountId: string; bytes: number }>()
    app.decorateRequest('meter', function (this: FastifyRequest, accountId: string, bytes: number) {
      refused.check(accountId)
      refused.note(accountId, bytes)
      metered.set(this, { accountId, bytes })
    })
    app.decorateRequest('unmeter', function (this: FastifyRequest) {
      const counted = metered.get(this)
      if (counted) refused.giveBack(counted.accountId, counted.bytes)
    })

    app.decorateRequest('rateHeaders', function (this: FastifyRequest) {
      return this.key ? rateHeaders(this.key, limits, lastSeen.get(this.key.keyId), clock()) : {}
    })

    const requireKeyOf = (secretOf: (request: FastifyRequest) => string | null) => {
      return async (request: FastifyRequest, reply: FastifyReply) => {
        const found = await lookedUp(keys, secretOf(request), request.ip)
        if ('key' in found) request.sentKey = found.key
        const key = liveKey(found)
        request.key = key
        request.askedAtMs = clock()
        app.boundRequests(key, reply)
      }
    }
    app.decorate('boundRequests', (key: KeyRecord, reply: FastifyReply) => {
      if (!isStandard(key)) return
      refused.check(senderOf(key))
      whenResponseCloses(reply.raw, callers.begin(key))
    })
    app.decorate(
      'requireKey',
      requireKeyOf((request) =>
        isMessagesClient(request) ? tokenOfEither(request) : bearerToken(request.headers.authorization),
      ),
    )
    app.decorate('requireMessagesKey', requireKeyOf(tokenOfEither))
    app.addHook('onSend', (request, reply, _payload, done) => {
      reply.headers(request.rateHeaders())
      const { key, bodyBytes, isAdmitted, raw } = request
      // A client that stops sending a body occupies a connection; one that disconnects does not.
      const status = reply.statusCode
      const isRefused =
        REFUSED.has(status) || (FAILED.has(status) && !isAdmitted) || (status === 408 && !raw.complete)
      if (key && isRefused && !raw.socket.destroyed) refused.note(senderOf(key), bodyBytes)
      done()
    })
  },
  { name: 'authenticate', dependencies: ['send-errors'] },
)

/**
 * The rate-limit headers of a key: its limits, or its account's if those leave fewer requests, and the rest at this
 * instance's last reading of the balance cache; everything, if the window has reset since. Resets in seconds.
 */
function rateHeaders(
  key: KeyRecord,
  limits: AuthenticateOptions['limits'],
  seen: SeenRate | undefined,
  nowMs: number,
): Record<string, string> {
  const resetMs = seen === undefined ? 0 : seen.seenAt + seen.resetMs - nowMs
  const rate = resetMs > 0 ? seen : undefined
  const { requestsPerMinute, accountRequestsPerMinute } = effectiveLimits(key, limits)
  const requests = rate?.limitRequests ?? Math.min(requestsPerMinute, accountRequestsPerMinute)
  const reset = String(Math.ceil(Math.max(0, resetMs) / 1000))
  return {
    'x-ratelimit-limit-requests': String(requests),
    'x-ratelimit-limit-tokens': String(limits.tokensPerMinute),
    'x-ratelimit-remaining-requests': String(rate?.remainingRequests ?? requests),
    'x-ratelimit-remaining-tokens': String(rate?.remainingTokens ?? limits.tokensPerMinute),
    'x-ratelimit-reset-requests': reset,
    'x-ratelimit-reset-tokens': reset,
  }
}

/** The key of a secret if it may be used; otherwise throws ApiError 401, 403, 429 or 503. */
export const authenticated = async (
  keys: Pick<KeyCache, 'lookup'>,
  secret: string | null,
  networkAddress: string,
  challenge?: string,
): Promise<KeyRecord> => liveKey(await lookedUp(keys, secret, networkAddress, challenge), challenge)

/** The key of a secret, also one that may not be used. Throws ApiError 401 without a secret. */
function lookedUp(
  keys: Pick<KeyCache, 'lookup'>,
  secret: string | null,
  networkAddress: string,
  challenge?: string,
): KeyLookup | Promise<KeyLookup> {
  if (secret !== null) return keys.lookup(secret, networkAddress)
  throw new ApiError(
    'missing_api_key',
    'Send your API key in the header `Authorization: Bearer <API_KEY>`.',
    { challenge },
  )
}

/** The key of a lookup if it may be used; otherwise throws ApiError 401, 403, 429 or 503. */
export function liveKey(found: KeyLookup, challenge?: string): KeyRecord {
  switch (found.kind) {
    case 'active':
      return found.key
    case 'unknown':
      throw new ApiError(
        'invalid_api_key',
        'This API key does not exist. Check it for typos, or issue a new one.',
        { challenge },
      )
    case 'revoked':
      throw new ApiError('key_revoked', 'This API key was revoked. Use another key.')
    case 'expired':
      throw new ApiError('key_revoked', 'This API key has expired. Issue a new one.')
    case 'paused':
      throw new ApiError(
        'key_revoked',
        found.key.pausedBy === 'operator'
          ? 'This API key was paused by the operator. Contact them, or use another key.'
          : 'This API key is paused. Resume it in the console, or use another key.',
      )
    case 'suspended':
      throw new ApiError('account_suspended', 'This account is suspended. Contact the operator.')
    case 'creator_suspended':
      throw new ApiError(
        'account_suspended',
        'The creator of this API key is suspended. Use another key, or contact the operator.',
      )
    case 'disabled':
      throw new ApiError('not_permitted', 'The operator of this admin key is disabled. Contact an admin.')
    case 'unavailable':
      throw new ApiError('overloaded', 'The key cannot be checked right now. Retry shortly.', {
        retryAfterSeconds: 1,
      })
    case 'throttled':
      throw new ApiError(
        'rate_limit_exceeded',
        'Too many unknown keys were sent from this network. Check the key, then retry in a minute.',
        { retryAfterSeconds: 60 },
      )
    default:
      return found satisfies never
  }
}

const isStandard = (key: KeyRecord): key is StandardKey => key.kind === 'standard' && key.accountId !== null

/** The key of a request that `requireKey` accepted. */
export function askingKey({ key }: FastifyRequest): KeyRecord {
  if (key === null) throw new Error('this route does not ask for a key')
  return key
}

/** The key of a request if it belongs to an account. Throws ApiError 403 with the given message. */
export function standardKey(request: FastifyRequest, refusal: string): StandardKey {
  const key = askingKey(request)
  if (isStandard(key)) return key
  throw new ApiError('not_permitted', refusal)
}

/** The key of a request that calls a model. Throws ApiError 403 for an admin key. */
export const callingKey = (request: FastifyRequest): StandardKey =>
  standardKey(request, 'Admin keys cannot call models. Use a standard key.')

/** Refuses a key that may not call models, or exceeds a limit, before the body is read. */
export const mayCall = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
  request.isToGuard = callingKey(request).guardrails !== undefined
  request.refuseLimited()
  done()
}

/** The token of `Authorization: Bearer …`; null without one. */
export function bearerToken(header: string | undefined): string | null {
  const match = /^bearer +(\S+) *$/i.exec(header ?? '')
  return match?.[1] ?? null
}

/** The key of `Authorization` or `x-api-key`. Throws ApiError 401 if they differ. */
function tokenOfEither({ headers }: FastifyRequest): string | null {
  const bearer = bearerToken(headers.authorization)
  const header = String(headers['x-api-key'] ?? '').trim() || null
  if (bearer !== null && header !== null && bearer !== header) {
    throw new ApiError(
      'invalid_api_key',
      'The headers `Authorization` and `x-api-key` contain different keys. Send only one.',
    )
  }
  return bearer ?? header
}

interface RefusedRequestsOptions {
  /** Maximum refused requests of an account in a minute, over all its keys. */
  refusedRequestsPerMinute: number
  refusedBytesPerMinute: number
  clock: () => number
}

const WINDOW_MS = 60_000
/** Statuses of requests refused for their content, or for lack of balance. */
const REFUSED = new Set([400, 402, 403, 404, 405, 413, 415, 422])
/** The same, before a call was admitted: what the sender causes itself must not be free. */
const FAILED = new Set([500, 503])

interface Counted {
  requests: number
  bytes: number
  endsAtMs: number
}

/** Admin keys have no account. */
const senderOf = ({ accountId, keyId }: KeyRecord): string => accountId ?? keyId

/**
 * Counts requests that were refused for their content, in the memory of this instance; they never reach the balance
 * cache.
 */
function createRefusedRequests(options: RefusedRequestsOptions) {
  const { refusedRequestsPerMinute, refusedBytesPerMinute, clock } = options
  const counted = new LRUCache<string, Counted>({ max: KEYS_REMEMBERED })
  const current = (sender: string): Counted | undefined => {
    const counts = counted.get(sender)
    const leftMs = counts ? counts.endsAtMs - clock() : 0
    // More than a window remains if the clock was set back.
    return leftMs > 0 && leftMs <= WINDOW_MS ? counts : undefined
  }
  return {
    /** Throws ApiError 429 if an account sent too many refused requests, or too many bytes of them, within a minute. */
    check(sender: string): void {
      const counts = current(sender)
      if (!counts || (counts.requests < refusedRequestsPerMinute && counts.bytes < refusedBytesPerMinute))
        return
      throw new ApiError(
        'rate_limit_exceeded',
        'Too many requests of this account were rejected within a minute. Check their errors, and retry later.',
        { retryAfterSeconds: (counts.endsAtMs - clock()) / 1000 },
      )
    },

    note(sender: string, bytes: number): void {
      const counts = current(sender) ?? { requests: 0, bytes: 0, endsAtMs: clock() + WINDOW_MS }
      counts.requests += 1
      counts.bytes += bytes
      counted.set(sender, counts)
    },

    giveBack(sender: string, bytes: number): void {
      const counts = current(sender)
      if (!counts) return
      counts.requests = Math.max(0, counts.requests - 1)
      counts.bytes = Math.max(0, counts.bytes - bytes)
    },
  }
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import { LRUCache } from 'lru-cache'
import type { KeyCache, KeyLookup, KeyRecord } from '../../accounts/key-cache.ts'
import type { RateLimited, RateState } from '../../billing/holds/admission.ts'
import { effectiveLimits, type LimitDefaults } from '../../core/accounts/api-key.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { whenResponseCloses } from '../calls/event-stream.ts'
import { createLimitedCallers } from '../limited-callers.ts'

export interface AuthenticateOptions {
  keys: Pick<KeyCache, 'lookup'>
  limits: LimitDefaults & Omit<RefusedRequestsOptions, 'clock'> & { tokensPerMinute: number }
  clock: () => number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that authenticated this request; null before, and on routes that need none. */
    key: KeyRecord | null
    /**
     * Notes what the balance cache said of the key's rate limits, for the response headers; and where it admits no call
     * for a time, for `refuseLimited`.
     */
    noteRate(rate: RateState, limited?: RateLimited | null): void
    /** Throws ApiError 429 where the balance cache would refuse any call of the key for its rate limits. */
    refuseLimited(): void
    /** When the request was authenticated, unix ms. */
    askedAtMs: number
    /** The rate-limit headers of the key; empty before authentication. */
    rateHeaders(): Record<string, string>
  }
  interface FastifyInstance {
    /** An onRequest hook: 401 or 403 unless a live key is presented. */
    requireKey(request: FastifyRequest, reply: FastifyReply): Promise<void>
    /** The same where clients of the messages wire call: the key may also come in `x-api-key`. */
    requireMessagesKey(request: FastifyRequest, reply: FastifyReply): Promise<void>
  }
}

const KEYS_REMEMBERED = 10_000

/** What the balance cache said of a key's rate limits, and when (unix ms). */
type SeenRate = RateState & { seenAt: number }

/** Key authentication, and the rate-limit headers that every authenticated response carries. */
export const authenticate = plugin<AuthenticateOptions>(
  async (app, { keys, limits, clock }) => {
    const refused = createRefusedRequests({ ...limits, clock })
    const callers = createLimitedCallers({ limits, clock })
    const lastSeen = new LRUCache<string, SeenRate>({ max: KEYS_REMEMBERED })

    app.decorateRequest('key', null)
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

    app.decorateRequest('rateHeaders', function (this: FastifyRequest) {
      return this.key ? rateHeaders(this.key, limits, lastSeen.get(this.key.keyId), clock()) : {}
    })

    const requireKeyOf = (secretOf: (request: FastifyRequest) => string | null) => {
      return async (request: FastifyRequest, reply: FastifyReply) => {
        const key = await authenticated(keys, secretOf(request), request.ip)
        request.key = key
        request.askedAtMs = clock()
        if (!isStandard(key)) return
        refused.check(senderOf(key))
        whenResponseCloses(reply.raw, callers.begin(key))
      }
    }
    app.decorate(
      'requireKey',
      requireKeyOf(({ headers }) => bearerToken(headers.authorization)),
    )
    app.decorate('requireMessagesKey', requireKeyOf(tokenOfEither))
    app.addHook('onSend', (request, reply, _payload, done) => {
      reply.headers(request.rateHeaders())
      const { key, bodyBytes, raw } = request
      // A client that stops sending a body takes up a connection. One that leaves takes up nothing.
      const isRefused = REFUSED.has(reply.statusCode) || (reply.statusCode === 408 && !raw.complete)
      if (key && isRefused && !raw.socket.destroyed) refused.note(senderOf(key), bodyBytes)
      done()
    })
  },
  { name: 'authenticate', dependencies: ['answer-errors'] },
)

/**
 * The rate-limit headers of a key: its limits, or its account's where those leave fewer requests, and what was left of
 * them when this instance last asked the balance cache; everything, once that has reset since. Resets in seconds.
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

/** The key of a secret if it may be used. Throws ApiError 401, 403, 429 or 503 if not. */
export async function authenticated(
  keys: Pick<KeyCache, 'lookup'>,
  secret: string | null,
  networkAddress: string,
  challenge?: string,
): Promise<KeyRecord> {
  if (secret === null) {
    throw new ApiError(
      'missing_api_key',
      'Send your API key in the header `Authorization: Bearer <API_KEY>`.',
      { challenge },
    )
  }
  return liveKey(await keys.lookup(secret, networkAddress), challenge)
}

/** The key of a lookup if it may be used. Throws ApiError 401, 403, 429 or 503 if not. */
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
        'The person who made this API key is suspended. Use another key, or contact the operator.',
      )
    case 'disabled':
      throw new ApiError('not_permitted', 'The operator whom this admin key belongs to is disabled.')
    case 'unavailable':
      throw new ApiError('overloaded', 'The key cannot be checked right now. Retry shortly.', {
        retryAfterSeconds: 1,
      })
    case 'throttled':
      throw new ApiError(
        'rate_limit_exceeded',
        'Too many keys that do not exist were sent from this network. Check the key, then retry in a minute.',
        { retryAfterSeconds: 60 },
      )
    default:
      return found satisfies never
  }
}

/** A key that may call models: it belongs to an account. */
export type StandardKey = KeyRecord & { accountId: string }

const isStandard = (key: KeyRecord): key is StandardKey => key.kind === 'standard' && key.accountId !== null

/** The key of a request that `requireKey` let through. */
export function askingKey({ key }: FastifyRequest): KeyRecord {
  if (key === null) throw new Error('this route does not ask for a key')
  return key
}

/** The key of a request if it is an account's. Throws ApiError 403 with the message given. */
export function standardKey(request: FastifyRequest, refusal: string): StandardKey {
  const key = askingKey(request)
  if (isStandard(key)) return key
  throw new ApiError('not_permitted', refusal)
}

/** The token of `Authorization: Bearer …`; null without one. */
export function bearerToken(header: string | undefined): string | null {
  const match = /^bearer +(\S+) *$/i.exec(header ?? '')
  return match?.[1] ?? null
}

/** The key of `Authorization` or of `x-api-key`. Throws ApiError 401 where they carry different ones. */
function tokenOfEither({ headers }: FastifyRequest): string | null {
  const bearer = bearerToken(headers.authorization)
  const header = String(headers['x-api-key'] ?? '').trim() || null
  if (bearer !== null && header !== null && bearer !== header) {
    throw new ApiError(
      'invalid_api_key',
      'The headers `Authorization` and `x-api-key` carry different keys. Send one.',
    )
  }
  return bearer ?? header
}

interface RefusedRequestsOptions {
  /** What an account may send of them in a minute, with all its keys together. */
  refusedRequestsPerMinute: number
  refusedBytesPerMinute: number
  clock: () => number
}

const WINDOW_MS = 60_000
/** What a request is refused with for what it says, or for what its balance does not cover. */
const REFUSED = new Set([400, 402, 403, 404, 405, 413, 415, 422])

interface Counted {
  requests: number
  bytes: number
  endsAtMs: number
}

/** Admin keys have no account. */
const senderOf = ({ accountId, keyId }: KeyRecord): string => accountId ?? keyId

/**
 * Counts requests that were refused for what they say, in the memory of this instance: the balance cache never hears of
 * them.
 */
function createRefusedRequests(options: RefusedRequestsOptions) {
  const { refusedRequestsPerMinute, refusedBytesPerMinute, clock } = options
  const counted = new LRUCache<string, Counted>({ max: KEYS_REMEMBERED })
  const current = (sender: string): Counted | undefined => {
    const counts = counted.get(sender)
    const leftMs = counts ? counts.endsAtMs - clock() : 0
    // More than a window is left where the clock was put back.
    return leftMs > 0 && leftMs <= WINDOW_MS ? counts : undefined
  }
  return {
    /** Throws ApiError 429 where an account sent too many of them, or too much, within a minute. */
    check(sender: string): void {
      const counts = current(sender)
      if (!counts || (counts.requests < refusedRequestsPerMinute && counts.bytes < refusedBytesPerMinute))
        return
      throw new ApiError(
        'rate_limit_exceeded',
        'Too many requests of this account were refused within a minute. Read their errors, and retry later.',
        { retryAfterSeconds: (counts.endsAtMs - clock()) / 1000 },
      )
    },

    note(sender: string, bytes: number): void {
      const counts = current(sender) ?? { requests: 0, bytes: 0, endsAtMs: clock() + WINDOW_MS }
      counts.requests += 1
      counts.bytes += bytes
      counted.set(sender, counts)
    },
  }
}

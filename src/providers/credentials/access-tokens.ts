import { readFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { readBoundedBody } from '../../platform/network/read-bounded-body.ts'
import { CredentialsFailure } from './credentials-failure.ts'

export interface AccessToken {
  token: string
  /** Unix milliseconds. */
  expiresAt: number
}

/** A token is renewed this long before its end, so that no request arrives with one that has ended. */
const MARGIN_MS = 60_000
/** BYOK keys have tokens of their own. */
const TOKENS_MAX = 1_000
const DEADLINE_MS = 10_000
const BODY_MAX_BYTES = 64 * 1024

/** Tokens by the key that they were exchanged for. A key is exchanged once at a time, and again a minute before its token ends. */
export class AccessTokens {
  readonly #tokens = new LRUCache<string, Promise<AccessToken>>({ max: TOKENS_MAX })
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** @param key all that the token depends on */
  async of(key: string, exchange: () => Promise<AccessToken>): Promise<string> {
    const known = this.#tokens.get(key)
    if (known) {
      const { token, expiresAt } = await known
      if (expiresAt - MARGIN_MS > this.#now()) return token
      // Others who waited for the same token may have begun to exchange the key.
      const newer = this.#tokens.get(key)
      if (newer && newer !== known) return (await newer).token
    }
    const exchanged = exchange()
    this.#tokens.set(key, exchanged)
    try {
      return (await exchanged).token
    } catch (error) {
      if (this.#tokens.get(key) === exchanged) this.#tokens.delete(key)
      throw error
    }
  }
}

/** Posts a form to a token endpoint and returns its JSON. Throws as askEndpoint does. */
export const postForm = async (url: string, form: URLSearchParams): Promise<Record<string, unknown>> =>
  readFields(await askEndpoint(url, { method: 'POST', body: form }))

/**
 * The text that a token endpoint answers. Throws CredentialsFailure: `refused` if the endpoint refuses the key,
 * `server-error` if it fails, `connect` if it does not answer.
 */
export async function askEndpoint(url: string | URL, init: RequestInit = {}): Promise<string> {
  let response: Response
  let text: string
  try {
    // A redirect could send the key to any address.
    response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(DEADLINE_MS) })
    text = await readBoundedBody(response, BODY_MAX_BYTES, 'the token endpoint')
  } catch (cause) {
    throw new CredentialsFailure('connect', 'the token endpoint does not answer', null, cause)
  }
  if (!response.ok) {
    const isRefusal = response.status >= 400 && response.status < 500 && response.status !== 429
    throw new CredentialsFailure(
      isRefusal ? 'refused' : response.status === 429 ? 'rate-limited' : 'server-error',
      `the token endpoint answered ${response.status}`,
      response.status,
    )
  }
  return text
}

/** The JSON object in an answer. */
export function readFields(text: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(text) as object) }
  } catch (cause) {
    throw new CredentialsFailure('unreadable', 'the token endpoint sent no JSON', null, cause)
  }
}

/** The token in a file that the platform keeps up to date. */
export async function readTokenFile(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    throw new CredentialsFailure('refused', 'the token file of the machine cannot be read', null, cause)
  }
}

const HOUR_SECONDS = 3_600

/** The token in the answer of an OAuth endpoint. */
export function readToken(
  { access_token: token, expires_in: seconds, expires_on: end }: Record<string, unknown>,
  now: number,
): AccessToken {
  if (typeof token !== 'string' || token === '')
    throw new CredentialsFailure('unreadable', 'the token endpoint sent no token')
  const lasts = Number(seconds ?? Number(end) - now / 1_000)
  return { token, expiresAt: now + 1_000 * (lasts > 0 ? Math.min(lasts, 24 * HOUR_SECONDS) : HOUR_SECONDS) }
}

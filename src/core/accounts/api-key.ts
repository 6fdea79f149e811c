import { crc32 } from 'node:zlib'

/**
 * The form of an API key: a prefix, 256 random bits as 43 base62 characters, and 6 base62 characters of
 * CRC32 over everything before, so that a typo is detected without a lookup.
 */
export type KeyKind = 'standard' | 'admin'

/** A key's prefix and suffix, the only parts shown after its creation. */
export interface KeyHint {
  prefix: string
  suffix: string
}

export const SECRET_BYTES = 32

const PREFIXES: Record<KeyKind, string> = { standard: 'sk-sy-', admin: 'sk-sy-admin-' }
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const HINT_PREFIX_LENGTH = 10
const HINT_SUFFIX_LENGTH = 4
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEY_PATTERN = new RegExp(`^sk-sy-(admin-)?[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

/** Encodes a new key from 32 random bytes. Throws RangeError on any other number of bytes. */
export function formatApiKey(kind: KeyKind, random: Uint8Array): string {
  if (random.length !== SECRET_BYTES) throw new RangeError(`an API key takes ${SECRET_BYTES} random bytes`)
  const body = PREFIXES[kind] + base62(BigInt(`0x${Buffer.from(random).toString('hex')}`), SECRET_LENGTH)
  return body + checksum(body)
}

/** The kind of a well-formed key, or null for anything else, including typos. Does not check whether the key exists. */
export function parseApiKey(text: string): KeyKind | null {
  const match = KEY_PATTERN.exec(text)
  if (!match) return null
  const body = text.slice(0, -CHECKSUM_LENGTH)
  if (text.slice(-CHECKSUM_LENGTH) !== checksum(body)) return null
  return match[1] === undefined ? 'standard' : 'admin'
}

const IMPORTED_KEY = /^sk-(?!sy-)[!-~]{1,253}$/

/** Whether a text could be a key of another gateway, which is known by its SHA-256 until its first use here. */
export const isImportedForm = (text: string): boolean => IMPORTED_KEY.test(text)

/** The displayable part of a key: its first 10 and last 4 characters. */
export function keyHint(key: string): KeyHint {
  return { prefix: key.slice(0, HINT_PREFIX_LENGTH), suffix: key.slice(-HINT_SUFFIX_LENGTH) }
}

const checksum = (body: string): string => base62(BigInt(crc32(body)), CHECKSUM_LENGTH)

function base62(value: bigint, length: number): string {
  let digits = ''
  for (let rest = value; rest > 0n; rest /= 62n) digits = ALPHABET[Number(rest % 62n)] + digits
  return digits.padStart(length, '0')
}

/** Requests per minute and concurrent calls; null: not set. */
export interface RateLimits {
  requestsPerMinute: number | null
  concurrentCalls: number | null
}

/** The settings of a key: by the operator, and by the customer, who may only lower the operator's. */
interface KeySettings extends RateLimits {
  customerRequestsPerMinute: number | null
  customerConcurrentCalls: number | null
}

export interface LimitSettings extends KeySettings {
  /** Set by the operator for all keys of the account together. */
  accountLimits: RateLimits
}

export interface LimitDefaults {
  requestsPerMinute: number
  concurrentCalls: number
  accountRequestsPerMinute: number
  accountConcurrentCalls: number
}

/**
 * The limits for admitting a call, of its key and of its account over all keys. The account's limit is the operator's
 * setting, or else the larger of the default and the operator's setting for the calling key.
 */
export function effectiveLimits(settings: LimitSettings, defaults: LimitDefaults): LimitDefaults {
  const { requestsPerMinute, concurrentCalls, accountLimits } = settings
  return {
    ...keyLimits(settings, defaults),
    accountRequestsPerMinute:
      accountLimits.requestsPerMinute ?? Math.max(defaults.accountRequestsPerMinute, requestsPerMinute ?? 0),
    accountConcurrentCalls:
      accountLimits.concurrentCalls ?? Math.max(defaults.accountConcurrentCalls, concurrentCalls ?? 0),
  }
}

/** The limits of one key: the granted ones, which the customer may lower. */
export function keyLimits(key: KeySettings, defaults: LimitDefaults): KeyLimits {
  const granted = grantedLimits(key, defaults)
  const least = (most: number, wanted: number | null) => Math.min(most, wanted ?? most)
  return {
    requestsPerMinute: least(granted.requestsPerMinute, key.customerRequestsPerMinute),
    concurrentCalls: least(granted.concurrentCalls, key.customerConcurrentCalls),
  }
}

type KeyLimits = Pick<LimitDefaults, 'requestsPerMinute' | 'concurrentCalls'>

/** The limits that the operator set for a key, or the defaults. */
export const grantedLimits = (key: RateLimits, defaults: LimitDefaults): KeyLimits => ({
  requestsPerMinute: key.requestsPerMinute ?? defaults.requestsPerMinute,
  concurrentCalls: key.concurrentCalls ?? defaults.concurrentCalls,
})

const LAST_CHARS = 4
const SHOWN_FROM_CHARS = 16

/** The end of a secret, to recognize it by. The last characters of a short one would reveal too much: none. */
export const lastCharacters = (secret: string): string =>
  secret.length < SHOWN_FROM_CHARS ? '' : secret.slice(-LAST_CHARS)

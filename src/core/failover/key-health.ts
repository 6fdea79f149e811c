import type { AttemptFailure } from './attempt-failure.ts'
import { firstCooldownMs, type HealthEffect, reopened } from './circuit-breaker.ts'

/**
 * What is known of one of several keys at a provider, shared by the fleet:
 *   refused       its provider refused it: no call gets it until `untilMs`, then one call tries it
 *   rate-limited  its provider asked for no requests with it at one offer until `untilMs`
 *   near-limit    its provider will do so soon: until `untilMs` it is used only if no other key is ready
 */
export interface KeyHealthEntry {
  reason: 'refused' | 'rate-limited' | 'near-limit'
  /** Unix milliseconds. */
  untilMs: number
  /** Of a refused key; else 0. */
  cooldownMs: number
}

const KEY_MARK = '#key:'

export const keySubject = (offerId: string, keyId: string): string => `${offerId}${KEY_MARK}${keyId}`

/** The subject of a key at all offers of a provider. Its provider is that of an offer with this id. */
export const providerKeySubject = (providerId: string, keyId: string): string =>
  keySubject(`${providerId}/`, keyId)

/** The offer and the key of a key's subject; the offer is `<provider>/` if it is about all. Null for any other subject. */
export function keyOfSubject(subject: string): { offerId: string; keyId: string } | null {
  const mark = subject.lastIndexOf(KEY_MARK)
  return mark < 0 ? null : { offerId: subject.slice(0, mark), keyId: subject.slice(mark + KEY_MARK.length) }
}

export const formatKeyEntry = ({ reason, untilMs, cooldownMs }: KeyHealthEntry): string =>
  `${reason}:${untilMs}:${cooldownMs}`

/** Parses an entry as kept in Redis; null on anything else. */
export function parseKeyEntry(text: string): KeyHealthEntry | null {
  const match = /^(refused|rate-limited|near-limit):(\d{1,16}):(\d{1,16})$/.exec(text)
  if (!match) return null
  return {
    reason: match[1] as KeyHealthEntry['reason'],
    untilMs: Number(match[2]),
    cooldownMs: Number(match[3]),
  }
}

/** What the end of an attempt says about its key. */
export type KeyEffect =
  | { kind: 'accepted' }
  /** By the provider: at every offer. By the offer: at this one. */
  | { kind: 'refused'; by: 'provider' | 'offer' }
  | { kind: 'rate-limited'; restMs: number }
  | { kind: 'none' }

/** How long a key rests whose provider asks for no requests and says no time. */
const REST_MS = 10_000
export const LEAST_REST_MS = 1_000

/** Statuses of refusals that are about the key or its balance. A 404 is about the model, whatever the key is. */
const KEY_STATUSES: ReadonlySet<number | null> = new Set([400, 401, 402, 403, 429])

/** Whether another key may get another answer. */
export const isAboutKey = ({ kind, httpStatus }: AttemptFailure): boolean =>
  kind === 'rate-limited' || (kind === 'refused' && KEY_STATUSES.has(httpStatus))

/** What a failure says about the key of its attempt. */
export function keyEffect(failure: AttemptFailure): KeyEffect {
  const { kind, httpStatus, retryAfterMs } = failure
  if (failure.isLate || !isAboutKey(failure)) return { kind: 'none' }
  if (kind === 'rate-limited')
    return { kind: 'rate-limited', restMs: Math.max(LEAST_REST_MS, retryAfterMs ?? REST_MS) }
  return { kind: 'refused', by: httpStatus === 403 ? 'offer' : 'provider' }
}

/** The entry of a key that was refused, with twice the cooldown of the time before. */
export function refusedKey(
  before: KeyHealthEntry | undefined,
  nowMs: number,
  breakerCooldownMs: number,
): KeyHealthEntry {
  if (before?.reason === 'refused')
    return { ...reopened({ ...before, reason: 'refused' }, nowMs, nowMs), reason: 'refused' }
  const cooldownMs = firstCooldownMs('refused', breakerCooldownMs)
  return { reason: 'refused', untilMs: Math.ceil(nowMs + cooldownMs), cooldownMs }
}

/**
 * What an attempt with one of several keys says about its offer: nothing while another key may serve, otherwise the same as that of
 * the only key, with the time of the first key that is back.
 * @param backMs time until a key takes calls, ms; 0: one does now
 */
export function effectBesideKeys(
  effect: HealthEffect,
  failure: AttemptFailure,
  backMs: number,
): HealthEffect {
  if (!isAboutKey(failure)) return effect
  if (backMs === 0) return { kind: 'none' }
  return effect.kind === 'rate-limited' ? { kind: 'rate-limited', retryAfterMs: backMs } : effect
}

import { drawOf } from './affinity.ts'

/** One of several keys at a provider. */
export interface WeightedKey {
  id: string
  /** Its share of the conversations, against the other keys. Above 0. */
  weight: number
}

/** What operators let a key be used for at most in a calendar minute, day or month (UTC); null: not limited. */
export interface PoolKeyLimits {
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  /** Whole USD at the provider's price. */
  usdPerDay: number | null
  usdPerMonth: number | null
}

/** Whether a key takes a call: `spare` only if no key is ready, since its provider would soon ask for no requests. */
export type KeyStanding = 'ready' | 'spare' | 'out'

export interface KeyChoice<Key> {
  /** The hash of what stays with one key, so that the provider's prompt cache serves it: a conversation, or its account. */
  affinity: number
  standing: (key: Key) => KeyStanding
}

/**
 * Chooses a key by weighted rendezvous: each conversation has an order of keys of its own, in which a key is first as often as its
 * weight says, and keys that come or go move no other conversation. So the key that holds the prefix of a prompt needs not be
 * remembered: it is the first, also after a rest. Null if every key is out.
 */
export function chooseKey<Key extends WeightedKey>(
  keys: readonly Key[],
  { affinity, standing }: KeyChoice<Key>,
): Key | null {
  let best: { key: Key; isReady: boolean; score: number } | null = null
  for (const key of keys) {
    const state = standing(key)
    if (state === 'out') continue
    const isReady = state === 'ready'
    const score = rendezvousScore(affinity, key)
    const isBetter = best === null || (isReady === best.isReady ? score > best.score : isReady)
    if (isBetter) best = { key, isReady, score }
  }
  return best?.key ?? null
}

/**
 * The score of a target for a subject: the target with the highest gets it. Weighted rendezvous hashing: Schindelhauer and
 * Schomaker, "Weighted distributed hash tables", 2005.
 */
const rendezvousScore = (subject: number, target: WeightedKey): number =>
  -target.weight / Math.log(drawOf(target, subject))

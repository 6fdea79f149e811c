import { defineScript, type Redis, type RedisScript } from './redis.ts'
import { KEYS_CHANNEL, KEYS_VERSION } from './redis-keys.ts'

/** A change of one key, or of an account and so of all its keys. */
export type KeyChange = { keyId: string } | { accountId: string }

export interface KeyChangeMessage {
  /** The number of this change; a gap means that a message was lost. */
  version: number
  change: KeyChange
}

/**
 * Tells every API instance that a key or an account changed, after the change is committed. The number
 * counts up first: an instance that misses the message sees the number move at its next poll.
 * Throws when Redis is away; the change then stands but is not known everywhere, so announce it again.
 */
export async function announceKeyChange(redis: Redis, change: KeyChange): Promise<void> {
  await announceScript(redis)([KEYS_VERSION], [KEYS_CHANNEL, JSON.stringify(change)])
}

// Numbers a change and tells it in one step: announcements that overtook each other would look like lost ones.
// KEYS 1 number of changes   ARGV 1 channel, 2 the change as JSON
// Returns the number of listeners
const ANNOUNCE = `
local version = redis.call('INCR', KEYS[1])
return redis.call('PUBLISH', ARGV[1], '{"version":' .. version .. ',"change":' .. ARGV[2] .. '}')`

const scripts = new WeakMap<Redis, RedisScript>()

function announceScript(redis: Redis): RedisScript {
  const known = scripts.get(redis) ?? defineScript(redis, 'syAnnounceKeyChange', ANNOUNCE)
  scripts.set(redis, known)
  return known
}

/** Reads an announcement; null when it is not one. */
export function parseKeyChange(message: string): KeyChangeMessage | null {
  let parsed: Partial<KeyChangeMessage> | null
  try {
    parsed = JSON.parse(message)
  } catch {
    return null
  }
  if (typeof parsed?.version !== 'number' || typeof parsed.change !== 'object' || parsed.change === null)
    return null
  return { version: parsed.version, change: parsed.change }
}

/** The number of the latest change; 0 before the first, and after Redis lost its data. */
export async function keysVersion(redis: Redis): Promise<number> {
  return Number((await redis.get(KEYS_VERSION)) ?? '0')
}

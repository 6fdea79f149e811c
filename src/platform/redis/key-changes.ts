import { oncePer } from '../../core/kernel/once-per.ts'
import { followRedis } from './follow-redis.ts'
import { defineScript, type Redis } from './redis.ts'
import { KEYS_CHANNEL, KEYS_VERSION } from './redis-keys.ts'

/** A change of one key, or of an account and so of all its keys, and of those that its holder made elsewhere. */
export type KeyChange = { keyId: string } | { accountId: string }

interface KeyChangeMessage {
  /** The number of this change; a gap means that a message was lost. */
  version: number
  change: KeyChange
}

/**
 * Announces to every API instance that a key or an account changed, after the change is committed. The number
 * counts up first: an instance that misses the message sees the number move at its next poll.
 * Throws when Redis is away; the change then stands but is not known everywhere, so announce it again.
 */
export async function announceKeyChange(redis: Redis, change: KeyChange): Promise<void> {
  await announceScript(redis)([KEYS_VERSION], [KEYS_CHANNEL, JSON.stringify(change)])
}

// Numbers a change and publishes it in one step: announcements that overtook each other would look like lost ones.
// KEYS 1 number of changes   ARGV 1 channel, 2 the change as JSON
// Returns the number of listeners
const ANNOUNCE = `
local version = redis.call('INCR', KEYS[1])
return redis.call('PUBLISH', ARGV[1], '{"version":' .. version .. ',"change":' .. ARGV[2] .. '}')`

const announceScript = oncePer((redis: Redis) => defineScript(redis, 'syAnnounceKeyChange', ANNOUNCE))

/** Reads an announcement; null when it is not one. */
function parseKeyChange(message: string): KeyChangeMessage | null {
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

export interface KeyChangesOptions {
  /** For polling the number of changes. */
  redis: Redis
  /** A connection in subscriber mode; it may carry other channels as well. The caller quits it. */
  subscriber: Redis
  onChange: (change: KeyChange) => void
  /** Something changed, and it is not known what. */
  onUnknown: () => void
  /** Of a row of failed polls only the first is reported. */
  onFailure: (error: unknown) => void
  pollMs?: number
}

const POLL_MS = 500

/**
 * Reports every change of a key or an account. Pub/sub loses messages, so changes are numbered and the number is
 * polled; when it moved without a message, anything may have changed. Waits for Redis. Returns how to stop.
 */
export async function watchKeyChanges(options: KeyChangesOptions): Promise<() => void> {
  const { redis, subscriber, onChange, onUnknown, onFailure, pollMs = POLL_MS } = options
  /** The number of the latest change; null before it was read. */
  let version: number | null = null
  // What was announced while the subscription was gone is not known.
  subscriber.on('ready', onUnknown)
  const stopFollowing = await followRedis({
    subscriber,
    channel: KEYS_CHANNEL,
    onMessage(message) {
      const announced = parseKeyChange(message)
      if (!announced || announced.version > (version ?? 0) + 1) onUnknown()
      else onChange(announced.change)
      version = Math.max(version ?? 0, announced?.version ?? 0)
    },
    async read() {
      const before = version
      // 0 before the first change, and after Redis lost its data, and with it maybe a change.
      const current = Number((await redis.get(KEYS_VERSION)) ?? '0')
      const isMissed = before !== null && (current > (version ?? 0) || current < before)
      if (isMissed) onUnknown()
      if (isMissed || before === null) version = current
    },
    pollMs,
    onFailure,
  })
  return () => {
    stopFollowing()
    subscriber.off('ready', onUnknown)
  }
}

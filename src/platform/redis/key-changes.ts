import { oncePer } from '../../core/kernel/once-per.ts'
import { followRedis } from './follow-redis.ts'
import { defineScript, type Redis } from './redis.ts'
import { KEYS_CHANNEL, KEYS_VERSION } from './redis-keys.ts'

/**
 * A change of one key, of an account, which covers all its keys and those that its holder created in other accounts, or of
 * what all accounts may use.
 */
export type KeyChange = { keyId: string } | { accountId: string } | { everyAccount: true }

interface KeyChangeMessage {
  /** The sequence number of this change; a gap means a lost message. */
  version: number
  change: KeyChange
}

/**
 * Announces to every API instance that a key or an account changed, after the change is committed. The sequence number
 * is incremented first, so that an instance that misses the message sees it at the next poll. Throws when Redis is
 * away. The change is then committed but not announced; announce it again.
 */
export async function announceKeyChange(redis: Redis, change: KeyChange): Promise<void> {
  await announceScript(redis)([KEYS_VERSION], [KEYS_CHANNEL, JSON.stringify(change)])
}

// Increments the number and publishes the change in one step; otherwise reordered announcements would look like lost
// ones. KEYS 1 number of changes   ARGV 1 channel, 2 the change as JSON Returns the number of subscribers
const ANNOUNCE = `
local version = redis.call('INCR', KEYS[1])
return redis.call('PUBLISH', ARGV[1], '{"version":' .. version .. ',"change":' .. ARGV[2] .. '}')`

const announceScript = oncePer((redis: Redis) => defineScript(redis, 'syAnnounceKeyChange', ANNOUNCE))

/** Parses an announcement; null if it is not one. */
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
  /** A connection in subscriber mode; it may serve other channels too. The caller quits it. */
  subscriber: Redis
  onChange: (change: KeyChange) => void
  /** Called when any key may have changed. */
  onUnknown: () => void
  /** Called for the first of consecutive failed polls. */
  onFailure: (error: unknown) => void
  pollMs?: number
}

const POLL_MS = 500

/**
 * Reports every change of a key or an account. Pub/sub loses messages, so changes are numbered and the number is
 * polled; if it moved without a message, any key may have changed. Waits for Redis. Returns a stop function.
 */
export async function watchKeyChanges(options: KeyChangesOptions): Promise<() => void> {
  const { redis, subscriber, onChange, onUnknown, onFailure, pollMs = POLL_MS } = options
  /** The number of the latest change; null before the first read. */
  let version: number | null = null
  // Announcements during the disconnection were lost.
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
      // 0 before the first change, and after Redis lost its data, possibly with a change.
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

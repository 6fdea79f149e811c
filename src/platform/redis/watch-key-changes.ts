import { pollEvery } from '../process/poll-every.ts'
import { type KeyChange, keysVersion, parseKeyChange } from './key-changes.ts'
import type { Redis } from './redis.ts'
import { KEYS_CHANNEL } from './redis-keys.ts'

export interface KeyChangesOptions {
  /** For polling the number of changes. */
  redis: Redis
  /** A connection in subscriber mode; it may carry other channels as well. The caller quits it. */
  subscriber: Redis
  onChange: (change: KeyChange) => void
  /** Something changed, and nobody knows what. */
  onUnknown: () => void
  /** Of a row of failed polls only the first is reported. */
  onFailure: (error: unknown) => void
  pollMs?: number
}

const POLL_MS = 400

/**
 * Hears every change of a key or an account. Pub/sub loses messages, so changes are numbered and the number is
 * polled; when it moved without a message, anything may have changed. Waits for Redis. Returns how to stop.
 */
export async function watchKeyChanges(options: KeyChangesOptions): Promise<() => void> {
  const { redis, subscriber, onChange, onUnknown } = options
  let version = 0
  const onMessage = (channel: string, message: string) => {
    if (channel !== KEYS_CHANNEL) return
    const announced = parseKeyChange(message)
    if (!announced || announced.version > version + 1) onUnknown()
    else onChange(announced.change)
    version = Math.max(version, announced?.version ?? 0)
  }
  const poll = async () => {
    const before = version
    const current = await keysVersion(redis)
    // Lower: Redis lost its data, and with it maybe a change.
    if (current > version || current < before) {
      onUnknown()
      version = current
    }
  }

  subscriber.on('message', onMessage)
  // What was announced while the subscription was gone is not known.
  subscriber.on('ready', onUnknown)
  await subscriber.subscribe(KEYS_CHANNEL)
  version = await keysVersion(redis)
  const stopPolling = pollEvery(options.pollMs ?? POLL_MS, poll, options.onFailure)
  return () => {
    stopPolling()
    subscriber.off('message', onMessage)
    subscriber.off('ready', onUnknown)
  }
}

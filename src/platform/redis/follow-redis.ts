import { pollEvery } from '../process/poll-every.ts'
import type { Redis } from './redis.ts'

export interface FollowOptions {
  /** A connection in subscriber mode; it may carry other channels as well. The caller closes it. */
  subscriber: Redis
  channel: string
  onMessage: (message: string) => void
  /** Reads what is followed, once here and then every `pollMs`: pub/sub loses messages. */
  read: () => Promise<void>
  pollMs: number
  /** Called for the first failed read in a row. */
  onFailure: (error: unknown) => void
}

/** Keeps a copy of a value in Redis up to date, by message and by polling. Rejects with the first read. */
export async function followRedis(options: FollowOptions): Promise<() => void> {
  const { subscriber, channel, read } = options
  const onMessage = (from: string, message: string) => {
    if (from === channel) options.onMessage(message)
  }
  subscriber.on('message', onMessage)
  await subscriber.subscribe(channel)
  await read()
  const stopPolling = pollEvery(options.pollMs, read, options.onFailure)
  return () => {
    stopPolling()
    subscriber.off('message', onMessage)
  }
}

import { pollEvery } from '../process/poll-every.ts'
import type { Redis } from './redis.ts'

export interface FollowOptions {
  /** A connection in subscriber mode; it may serve other channels too. The caller closes it. */
  subscriber: Redis
  channel: string
  onMessage: (message: string) => void
  /** Reads the value at the start, after each reconnect, which loses messages, and every `pollMs`. */
  read: () => Promise<void>
  pollMs: number
  /** Called for the first of consecutive failed reads. */
  onFailure: (error: unknown) => void
}

/** A client that reconnected has subscribed again by then. */
const RESUBSCRIBED_MS = 200

/** Keeps a copy of a Redis value up to date, by message and by polling. Rejects if the first read fails. */
export async function followRedis(options: FollowOptions): Promise<() => void> {
  const { subscriber, channel, read } = options
  const onMessage = (from: string, message: string) => {
    if (from === channel) options.onMessage(message)
  }
  subscriber.on('message', onMessage)
  await subscriber.subscribe(channel)
  await read()
  const stopPolling = pollEvery(options.pollMs, read, options.onFailure)
  let reading: NodeJS.Timeout | undefined
  const onReady = () => {
    clearTimeout(reading)
    reading = setTimeout(() => void read().catch(options.onFailure), RESUBSCRIBED_MS)
  }
  subscriber.on('ready', onReady)
  return () => {
    stopPolling()
    clearTimeout(reading)
    subscriber.off('ready', onReady)
    subscriber.off('message', onMessage)
  }
}

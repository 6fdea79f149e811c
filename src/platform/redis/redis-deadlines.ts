import type { Socket } from 'node:net'
import type { Redis } from 'ioredis'
import { tickEvery } from '../process/coalesced-timers.ts'

export interface RedisDeadlines {
  /** A connection on which commands wait and nothing arrives for this long is broken, and reconnected. */
  silenceMs: number
  /**
   * Not connected for this long, every command that waits fails, and each further one at once until the connection is
   * back. Null: commands wait for as long as it takes.
   */
  awayMs: number | null
  /** A connection that has nothing to do is asked whether it still stands this often. Null: never. */
  idlePingMs: number | null
}

const TICKS_PER_SILENCE = 8
/** A connection is looked at this often at the least. */
const TICK_MAX_MS = 1_000

/** What the client keeps to itself: commands that wait for a connection, and those to send again. */
interface Waiting {
  offlineQueue: CommandQueue
  prevCommandQueue?: CommandQueue | null
  commandQueue: CommandQueue
}

interface CommandQueue {
  readonly length: number
  shift(): { command: { reject(error: Error): void } } | undefined
}

/**
 * Gives the commands of a client deadlines, by its connection and not one by one: of a server that hangs all
 * of them fail together, and what failed is not sent later. Time is counted in looks at the connection, with input
 * read between two of them, so a process that was itself held up does not take its own pause for the server's.
 */
export function enforceDeadlines(client: Redis, { silenceMs, awayMs, idlePingMs }: RedisDeadlines): void {
  const tickMs = Math.min(Math.ceil(silenceMs / TICKS_PER_SILENCE), TICK_MAX_MS)
  let stopLooking: (() => void) | undefined
  let [silentTicks, awayTicks, idleTicks, seenBytes] = [0, 0, 0, -1]
  let [wasReady, isUp, isSilent] = [false, false, false]

  const look = () => {
    const { stream, status } = client
    awayTicks = status === 'ready' ? 0 : awayTicks + 1
    if (awayMs !== null && awayTicks * tickMs >= (wasReady ? awayMs : silenceMs))
      giveUp(client, new RedisAwayError('is not connected'))
    const pending = (status === 'ready' || status === 'connect') && client.commandQueue.length > 0
    const bytes = stream?.bytesRead ?? 0
    silentTicks = pending && bytes === seenBytes ? silentTicks + 1 : 0
    idleTicks = pending || bytes !== seenBytes ? 0 : idleTicks + 1
    seenBytes = bytes
    if (silentTicks * tickMs >= silenceMs) {
      silentTicks = 0
      isSilent = true
      client.emit('error', new RedisAwayError('does not answer'))
      drop(client)
    } else if (idlePingMs !== null && status === 'ready' && idleTicks * tickMs >= idlePingMs) {
      idleTicks = 0
      // Its failure is the connection's, which has listeners of its own.
      client.ping().catch(() => undefined)
    }
  }

  // A connection that answers and is not pinged is looked at half as often, until it is in doubt.
  const everyMs = () =>
    client.status === 'ready' && silentTicks === 0 && idlePingMs === null ? 2 * tickMs : tickMs
  client.on('connecting', () => {
    stopLooking ??= tickEvery(everyMs, look)
  })
  client.on('ready', () => {
    wasReady = true
    isUp = true
    client.options.enableOfflineQueue = true
  })
  client.on('close', () => {
    if (isUp) {
      isUp = false
      stopLooking?.()
      stopLooking = tickEvery(everyMs, look)
    }
    if (isSilent && awayMs !== null) giveUp(client, new RedisAwayError('does not answer'))
    isSilent = false
  })
  client.on('end', () => {
    stopLooking?.()
    stopLooking = undefined
  })
}

/** Redis cannot be reached, or does not answer. */
export class RedisAwayError extends Error {
  constructor(how: string) {
    super(`redis ${how}`)
    this.name = 'RedisAwayError'
  }
}

/** What ioredis says of a command while its client lets none wait, and once its client was closed. */
const NOT_SENT = "Stream isn't writeable and enableOfflineQueue options is false"
const REFUSALS = [NOT_SENT, 'Connection is closed.']

/** Whether a command failed without having been sent: nobody need ask whether it was done. */
export const wasNotSent = (error: unknown): boolean => error instanceof Error && error.message === NOT_SENT

/** Whether a command failed because Redis cannot be reached or does not answer. */
export const isRedisAway = (error: unknown): boolean =>
  error instanceof RedisAwayError || (error instanceof Error && REFUSALS.includes(error.message))

/** Breaks a connection. One over plain TCP is reset: what the server has not received yet shall not arrive later. */
function drop({ stream, options }: Redis): void {
  if (options.path === undefined && options.tls === undefined) (stream as Socket).resetAndDestroy()
  else stream.destroy()
}

/** Fails every command that waits for a connection, and lets none wait until there is one again. */
function giveUp(client: Redis, error: RedisAwayError): void {
  client.options.enableOfflineQueue = false
  const { offlineQueue, prevCommandQueue, commandQueue } = client as unknown as Waiting
  // Of a connection that is being made the commands are its handshake.
  const sent = client.stream?.destroyed ? [commandQueue] : []
  for (const queue of [prevCommandQueue, ...sent, offlineQueue]) {
    for (let item = queue?.shift(); item; item = queue?.shift()) item.command.reject(error)
  }
}

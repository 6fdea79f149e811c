import type { Socket } from 'node:net'
import type { Redis } from 'ioredis'
import { tickEvery } from '../process/coalesced-timers.ts'

export interface RedisDeadlines {
  /** A connection with pending commands and no input for this long is broken and is reconnected. */
  silenceMs: number
  /**
   * After this long without a connection, all pending commands fail, and new ones fail at once until the connection is
   * back. Null: commands wait indefinitely.
   */
  awayMs: number | null
  /** Ping interval of an idle connection. Null: never. */
  idlePingMs: number | null
}

const TICKS_PER_SILENCE = 8
/** Maximum interval between checks of a connection. */
const TICK_MAX_MS = 1_000

/** Internals of the client: commands that wait for a connection, and commands to send again. */
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
 * Enforces deadlines by connection instead of by command: if a server hangs, all commands fail together, and a failed
 * command is not sent later. Time is counted in checks of the connection, with input read between two checks, so a
 * process that was blocked itself does not blame the server.
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
      client.emit('error', new RedisAwayError('does not respond'))
      drop(client)
    } else if (idlePingMs !== null && status === 'ready' && idleTicks * tickMs >= idlePingMs) {
      idleTicks = 0
      // A failure is reported by the connection's own listeners.
      client.ping().catch(() => undefined)
    }
  }

  // A responsive connection without pings is checked half as often.
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
    if (isSilent && awayMs !== null) giveUp(client, new RedisAwayError('does not respond'))
    isSilent = false
  })
  client.on('end', () => {
    stopLooking?.()
    stopLooking = undefined
  })
}

/** Redis is unreachable or does not respond. */
export class RedisAwayError extends Error {
  constructor(how: string) {
    super(`redis ${how}`)
    this.name = 'RedisAwayError'
  }
}

/** ioredis's messages for a command while its client queues none, and after its client was closed. */
const NOT_SENT = "Stream isn't writeable and enableOfflineQueue options is false"
const REFUSALS = [NOT_SENT, 'Connection is closed.']

/** Whether a command failed before it was sent, so it certainly had no effect. */
export const wasNotSent = (error: unknown): boolean => error instanceof Error && error.message === NOT_SENT

/** A cluster in which nothing serves a slot, or whose slot moves, for longer than a command waits. */
const UNSERVED = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN) /

/** Whether a command failed because Redis is unreachable or does not respond. */
export const isRedisAway = (error: unknown): boolean =>
  error instanceof RedisAwayError ||
  (error instanceof Error && (REFUSALS.includes(error.message) || UNSERVED.test(error.message)))

/** Breaks a connection. Plain TCP is reset, so that data not yet received never arrives. */
function drop({ stream, options }: Redis): void {
  if (options.path === undefined && options.tls === undefined) (stream as Socket).resetAndDestroy()
  else stream.destroy()
}

/** Fails every command that waits for a connection, and queues none until there is one again. */
function giveUp(client: Redis, error: RedisAwayError): void {
  client.options.enableOfflineQueue = false
  const { offlineQueue, prevCommandQueue, commandQueue } = client as unknown as Waiting
  // The commands of a connecting client are its handshake.
  const sent = client.stream?.destroyed ? [commandQueue] : []
  for (const queue of [prevCommandQueue, ...sent, offlineQueue]) {
    for (let item = queue?.shift(); item; item = queue?.shift()) item.command.reject(error)
  }
}

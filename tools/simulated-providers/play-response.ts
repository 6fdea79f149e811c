import type { ServerResponse } from 'node:http'
import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import type { Step } from './response-plan.ts'
import { gzipSink, plainSink, type ResponseSink, rawSink } from './response-sink.ts'

export interface PlayOptions {
  gzip: boolean
  splitBytes: boolean
  /** Resolves when a held response may continue. */
  released: Promise<void>
}

/** How a response ended: sent whole, broken off by the provider itself, or left by the client. */
export type Ending = 'finished' | 'broken' | 'aborted'

const SLOW_HEAD_PIECES = 10
/** A shorter wait is carried over to the next one, so that high token rates hold on average. */
const SHORTEST_TIMER_MS = 1
const RESET_DELAY_MS = 20
/** How far the pace may fall behind the clock before it is forgiven instead of caught up with. */
const LONGEST_LAG_MS = 1_000

/**
 * Plays a planned response on a connection and resolves, once the connection is done with it, with how it
 * ended. Writes that follow each other without a wait between them leave as one chunk.
 */
export async function playResponse(
  steps: readonly Step[],
  response: ServerResponse,
  options: PlayOptions,
): Promise<Ending> {
  const line = openLine(response)
  let sink = options.gzip ? gzipSink(response) : plainSink(response)
  let pending = ''
  const flush = async () => {
    if (pending === '') return
    const data = pending
    pending = ''
    if (options.splitBytes) await writeBytes(Buffer.from(data), sink, line)
    else sink.write(data)
  }

  for (const step of steps) {
    if (line.closed()) break
    if (step.kind !== 'write' && step.kind !== 'end') await flush()
    switch (step.kind) {
      case 'write':
        pending += step.data
        break
      case 'bytes':
        if (options.splitBytes) await writeBytes(step.data, sink, line)
        else sink.write(step.data)
        break
      case 'head':
        sink.head(step.status, step.headers)
        break
      case 'slow-head':
        await writeHeadSlowly(step, response, line)
        sink = rawSink(response)
        break
      case 'turn':
        sink.flushHead()
        await line.turn()
        break
      case 'wait':
        if (line.mustWait(step.durationMs)) {
          sink.flushHead()
          await line.pause()
        }
        break
      case 'hold':
        sink.flushHead()
        await Promise.race([options.released, line.over])
        break
      case 'end':
        if (options.splitBytes) await flush()
        sink.end(pending)
        await line.over
        // The response object does not count a body written to the bare socket.
        return response.writableFinished || !response.writableEnded ? 'finished' : 'aborted'
      case 'cut':
      case 'reset':
        await sink.flushed()
        if (step.kind === 'cut') response.socket?.destroy()
        else await resetConnection(response)
        await line.over
        return 'broken'
      case 'stall':
        sink.flushHead()
        break
    }
  }
  await line.over
  return 'aborted'
}

/** The clock and the end of one connection's response. */
interface Line {
  /** Resolves when the response is over, in whichever way. */
  readonly over: Promise<void>
  closed(): boolean
  turn(): Promise<void>
  /** Moves the pace on by a wait; true when there is time left to wait for. */
  mustWait(durationMs: number): boolean
  /** Waits until the pace is reached or the response is over. */
  pause(): Promise<void>
}

function openLine(response: ServerResponse): Line {
  let isClosed = response.destroyed
  let dueAt = performance.now()
  let wake: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    if (isClosed) resolve()
    response.once('close', () => {
      isClosed = true
      clearTimeout(timer)
      wake?.()
      resolve()
    })
  })
  return {
    over,
    closed: () => isClosed,
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    mustWait: (durationMs) => {
      // The pace is kept against the clock, so that late timers do not add up.
      dueAt = Math.max(dueAt + durationMs, performance.now() - LONGEST_LAG_MS)
      return dueAt - performance.now() >= SHORTEST_TIMER_MS
    },
    pause: () =>
      new Promise((resolve) => {
        wake = resolve
        timer = setTimeout(resolve, Math.max(0, dueAt - performance.now()))
      }),
  }
}

/** Resets after a moment, because a reset takes back what the client has not read yet. */
async function resetConnection(response: ServerResponse): Promise<void> {
  if (response.headersSent) await setTimeoutPromise(RESET_DELAY_MS)
  response.socket?.resetAndDestroy()
}

async function writeBytes(bytes: Buffer, sink: ResponseSink, line: Line): Promise<void> {
  for (let offset = 0; offset < bytes.length && !line.closed(); offset++) {
    sink.write(bytes.subarray(offset, offset + 1))
    await line.turn()
  }
}

async function writeHeadSlowly(
  step: { durationMs: number; headers: Record<string, string> },
  response: ServerResponse,
  line: Line,
): Promise<void> {
  const lines = Object.entries(step.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 200 OK\r\n${lines.join('')}connection: close\r\n\r\n`
  const size = Math.ceil(head.length / SLOW_HEAD_PIECES)
  for (let offset = 0; offset < head.length && !line.closed(); offset += size) {
    response.socket?.write(head.slice(offset, offset + size))
    if (line.mustWait(step.durationMs / SLOW_HEAD_PIECES)) await line.pause()
  }
}

import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { LiveView } from '../../core/api/operations.ts'
import { eventsOf } from '../../core/api/reference/stream-events.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { readProcesses } from '../../platform/observability/process-report.ts'
import { readTraffic } from '../../platform/observability/traffic.ts'
import { trafficSlots } from '../../platform/observability/traffic-counts.ts'
import { withTimeout } from '../../platform/process/with-timeout.ts'
import { isSettlementBehind, readQueues } from '../../platform/queues/queue-stats.ts'
import { breakerViews } from '../account-api/offer-view.ts'
import { startEventStream, whenResponseCloses } from '../calls/event-stream.ts'
import { needs } from '../plugins/operator-access.ts'
import { liveTraffic } from './traffic-routes.ts'

/** GET /live: the current metrics, every second, as server-sent events. */
export const liveRoutes: FastifyPluginAsync = async (app) => {
  const board = new LiveBoard(() => liveView(app))
  app.addHook('preClose', async () => board.close())

  // No HEAD: Node would send nothing of its response before its end.
  app.get(
    '/live',
    { exposeHeadRoute: false, ...needs('read'), schema: eventsOf(LiveView) },
    async (request, reply) => {
      if (!board.hasRoom) {
        throw new ApiError('overloaded', 'Too many live views are open on this instance. Retry shortly.', {
          retryAfterSeconds: 5,
        })
      }
      const response = startEventStream(reply)
      response.flushHeaders()
      board.add(response)
      endWithAccess(response, () => app.requireOperator(request))
    },
  )
}

const ACCESS_CHECKED_EVERY_MS = 2_000

/** Ends a stream when its operator loses access: signed out, disabled, or the key revoked. */
function endWithAccess(response: ServerResponse, requireAccess: () => Promise<void>): void {
  const timer = setInterval(() => {
    requireAccess().catch((error: unknown) => {
      // While PostgreSQL is unavailable, the access is unknown and the stream continues.
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) response.destroy()
    })
  }, ACCESS_CHECKED_EVERY_MS)
  whenResponseCloses(response, () => clearInterval(timer))
}

const EVERY_MS = 1_000
const LISTENERS_MAX = 50
/** A listener with more unread data is disconnected. */
const UNREAD_MAX_BYTES = 512 * 1024

/**
 * The live metrics of one instance: one message a second, computed once for all listeners, and not at all without
 * listeners.
 */
class LiveBoard {
  readonly #compute: () => Promise<LiveView>
  readonly #listeners = new Set<ServerResponse>()
  #timer: NodeJS.Timeout | undefined

  constructor(compute: () => Promise<LiveView>) {
    this.#compute = compute
  }

  /** Whether one more listener is allowed. */
  get hasRoom(): boolean {
    return this.#listeners.size < LISTENERS_MAX
  }

  /** Writes messages to a response whose head is sent, until it closes. */
  add(response: ServerResponse): void {
    this.#listeners.add(response)
    whenResponseCloses(response, () => {
      this.#listeners.delete(response)
      if (this.#listeners.size > 0) return
      clearTimeout(this.#timer)
      this.#timer = undefined
    })
    if (this.#listeners.size > 0 && this.#timer === undefined) this.#schedule(0)
  }

  /** Ends every listener's stream. */
  close(): void {
    clearTimeout(this.#timer)
    for (const response of this.#listeners) response.end()
  }

  #schedule(afterMs: number): void {
    this.#timer = setTimeout(() => void this.#beat(), afterMs)
  }

  async #beat(): Promise<void> {
    const startedAt = performance.now()
    const message = `data: ${JSON.stringify(await this.#compute())}\n\n`
    for (const response of this.#listeners) {
      if (response.writableLength > UNREAD_MAX_BYTES) response.destroy()
      else response.write(message)
    }
    if (this.#listeners.size > 0) this.#schedule(Math.max(0, EVERY_MS - (performance.now() - startedAt)))
  }
}

/** Values that take longer are null in the message. */
const TIMEOUT_MS = 900
/** The queues of a shard that takes longer are left out. */
const SHARD_TIMEOUT_MS = 700
const WINDOW_MS = 10_000
/** Every process has reported a second by then. */
const REPORTED_AFTER_MS = 2_000

/** Builds one message. Never rejects: unavailable values are null. */
async function liveView(app: FastifyInstance): Promise<LiveView> {
  const { offers } = app.catalog
  const { redis, queues, alarms, hostClock: clock } = app.operators
  const now = clock()
  const toMs = Math.floor((now - REPORTED_AFTER_MS) / 1000) * 1000
  const fromMs = toMs - WINDOW_MS
  const [processes, stats, traffic, openAlarms] = await Promise.all([
    orNull(readProcesses(redis)),
    orNull(readQueues(redis, queues, now, SHARD_TIMEOUT_MS)),
    orNull(readTraffic(redis, fromMs, toMs)),
    orNull(alarms.countOpen()),
  ])
  const [slot] = traffic ? trafficSlots(traffic, { fromMs, toMs, stepMs: WINDOW_MS }) : []
  return {
    object: 'live',
    at: isoTime(now),
    processes,
    queues: stats?.data ?? null,
    shards_away: stats?.shards_away ?? null,
    settlement_behind: stats && isSettlementBehind(stats.data),
    traffic: slot ? liveTraffic(slot, WINDOW_MS) : null,
    open_alarms: openAlarms,
    breakers: breakerViews(offers.health),
  }
}

/** A failed reading is null here; its own route reports the error. */
const orNull = <T>(reading: Promise<T>): Promise<T | null> => withTimeout<T | null>(reading, TIMEOUT_MS, null)

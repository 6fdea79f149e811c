import type { FastifyInstance } from 'fastify'
import plugin from 'fastify-plugin'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { KeyRecord } from '../../accounts/key-cache.ts'
import type { ErrorCode } from '../../core/kernel/errors.ts'
import { type OpenSpan, openSpan, tracesAreOn } from '../../platform/observability/tracing.ts'
import type { WorkCounts } from '../../platform/observability/traffic-counts.ts'
import { whenResponseCloses } from '../calls/event-stream.ts'

export interface ObserveRequestsOptions {
  registry: Registry
  report: WorkCounts
  /** Counts the refusals of keys, for operators and account holders. */
  refusals: { note: (key: KeyRecord | null, code: ErrorCode) => void }
  /** Calls in flight. */
  pendingCalls: () => number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the error sent for this request, also within a stream; null so far. */
    errorCode: ErrorCode | null
    /** A call was admitted for this request, or one that was admitted before answers it: it has a record. */
    isAdmitted: boolean
    /** The span of this request, if its trace is kept. */
    span: OpenSpan | null
  }
}

/** Traces requests, if traces are on, and counts them. */
export const observeRequests = plugin<ObserveRequestsOptions>(
  async (app, options) => {
    traceRequests(app)
    measureRequests(app, options)
  },
  { name: 'observe-requests' },
)

const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** The API of clients, without pages and the operators' interface. */
const VERSION = /^\/v\d+\//

/**
 * A server span for every request under /v1 and /v2, part of the client's trace if it sent one. If traces are off, no
 * hook is added.
 */
function traceRequests(app: FastifyInstance): void {
  if (!tracesAreOn()) return
  app.decorateRequest('span', null)
  app.addHook('onRequest', (request, _reply, done) => {
    const [version] = VERSION.exec(request.url) ?? []
    if (version === undefined) return done()
    const route = request.routeOptions.url ?? `${version}*`
    const { traceparent } = request.headers
    const span = openSpan(`${request.method} ${route}`, {
      kind: 'SERVER',
      parent: typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined,
      attributes: {
        'http.request.method': request.method,
        'http.route': route,
        'url.path': request.url.split('?', 1)[0]!,
        'url.scheme': request.protocol,
        'shuntyard.request.id': request.id,
      },
    })
    if (span.isRecorded) request.span = span
    done()
  })
  // Set here, because the events of reading a body run outside of the earlier context.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.span) request.span.run(done)
    else done()
  })
  app.addHook('onResponse', async ({ span }, { statusCode }) => {
    if (!span) return
    span.set({ 'http.response.status_code': statusCode })
    if (statusCode >= 500) span.fail(String(statusCode))
    span.end()
  })
}

/** A WebSocket, which is written without its response. */
export const SWITCHED = 101

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** Counts responses and their durations, by route, in memory. */
function measureRequests(
  app: FastifyInstance,
  { registry, report, refusals, pendingCalls }: ObserveRequestsOptions,
): void {
  const requests = new Counter({
    name: 'shuntyard_http_requests_total',
    help: 'HTTP requests with a response; aborted: the client left before.',
    labelNames: ['route', 'status_class'],
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'shuntyard_http_request_duration_seconds',
    help: 'From the head of a request to the end of its response.',
    labelNames: ['route', 'status_class'],
    buckets: SECONDS,
    registers: [registry],
  })
  new Gauge({
    name: 'shuntyard_pending_calls',
    help: 'Calls this instance waits for.',
    registers: [registry],
    collect() {
      this.set(pendingCalls())
    },
  })
  app.decorateRequest('errorCode', null)
  app.decorateRequest('isAdmitted', false)

  app.addHook('onRequest', (request, reply, done) => {
    const startedAt = performance.now()
    const count = () => {
      const route = request.routeOptions.url ?? 'none'
      const isWhole = reply.raw.writableFinished || reply.raw.statusCode === SWITCHED
      const statusClass = isWhole ? `${Math.floor(reply.raw.statusCode / 100)}xx` : 'aborted'
      const labels = { route, status_class: statusClass }
      requests.inc(labels)
      duration.observe(labels, (performance.now() - startedAt) / 1000)
      report.finished(statusClass)
      // The operators' traffic is of paid calls only, without pages and lookups.
      if (request.method !== 'POST' || !VERSION.test(request.url)) return
      const { errorCode, isAdmitted, sentKey = null } = request
      if (errorCode !== null && !isAdmitted) refusals.note(sentKey, errorCode)
      if (!VERSION.test(route)) return
      report.traffic.add([[`requests:${statusClass}`, 1n]])
      if (errorCode !== null) report.traffic.add([[`errors:${errorCode}`, 1n]])
    }
    // Covers streams that a writer took over and clients that left, which Fastify hooks miss.
    whenResponseCloses(reply.raw, count)
    done()
  })
}

import plugin from 'fastify-plugin'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { ErrorCode } from '../../core/kernel/errors.ts'
import type { ProcessReport } from '../../platform/observability/process-report.ts'
import { whenResponseCloses } from '../when-response-closes.ts'

export interface MeasureRequestsOptions {
  registry: Registry
  report: Pick<ProcessReport, 'finished' | 'traffic'>
  /** Calls in flight. */
  pendingCalls: () => number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the error this request was answered with, also within a stream; null so far. */
    errorCode: ErrorCode | null
  }
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
/** What clients pay for: the operators' traffic is these alone, without pages and look-ups. */
const CALL_ROUTE = /^\/v1\//

/** Counts answered requests and how long they took, by route, in memory. */
export const measureRequests = plugin<MeasureRequestsOptions>(
  async (app, { registry, report, pendingCalls }) => {
    const requests = new Counter({
      name: 'switchyard_http_requests_total',
      help: 'Answered HTTP requests; aborted: the client left before.',
      labelNames: ['route', 'status_class'],
      registers: [registry],
    })
    const duration = new Histogram({
      name: 'switchyard_http_request_duration_seconds',
      help: 'From the head of a request to the end of its answer.',
      labelNames: ['route', 'status_class'],
      buckets: SECONDS,
      registers: [registry],
    })
    new Gauge({
      name: 'switchyard_pending_calls',
      help: 'Calls this instance waits for.',
      registers: [registry],
      collect() {
        this.set(pendingCalls())
      },
    })
    app.decorateRequest('errorCode', null)

    app.addHook('onRequest', async (request, reply) => {
      const startedAt = performance.now()
      const count = () => {
        const route = request.routeOptions.url ?? 'none'
        const isWhole = reply.raw.writableFinished
        const statusClass = isWhole ? `${Math.floor(reply.raw.statusCode / 100)}xx` : 'aborted'
        const labels = { route, status_class: statusClass }
        requests.inc(labels)
        duration.observe(labels, (performance.now() - startedAt) / 1000)
        report.finished(statusClass)
        if (request.method !== 'POST' || !CALL_ROUTE.test(route)) return
        report.traffic.add([[`requests:${statusClass}`, 1n]])
        if (request.errorCode !== null) report.traffic.add([[`errors:${request.errorCode}`, 1n]])
      }
      // Also of a stream that its writer took over, and of one whose client left: Fastify hooks miss those.
      whenResponseCloses(reply.raw, count)
    })
  },
  { name: 'measure-requests' },
)

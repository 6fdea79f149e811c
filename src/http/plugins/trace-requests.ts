import plugin from 'fastify-plugin'
import { type OpenSpan, openSpan, tracesAreOn } from '../../platform/observability/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of this request, where traces are on. */
    span: OpenSpan | null
  }
}

const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** A server span for every request under /v1, part of the client's trace where it sent one. Off: no hook at all. */
export const traceRequests = plugin(
  async (app) => {
    if (!tracesAreOn()) return
    app.decorateRequest('span', null)
    app.addHook('onRequest', (request, _reply, done) => {
      if (!request.url.startsWith('/v1/')) return done()
      const route = request.routeOptions.url ?? '/v1/*'
      const { traceparent } = request.headers
      request.span = openSpan(`${request.method} ${route}`, {
        kind: 'SERVER',
        parent: typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined,
        attributes: {
          'http.request.method': request.method,
          'http.route': route,
          'url.path': request.url.split('?', 1)[0]!,
          'url.scheme': request.protocol,
          'switchyard.request.id': request.id,
        },
      })
      done()
    })
    // Here, since the events of a body that is read run outside of what ran before them.
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
  },
  { name: 'trace-requests' },
)

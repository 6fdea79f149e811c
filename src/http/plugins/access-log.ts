import plugin from 'fastify-plugin'
import type { Logger } from '../../platform/observability/logger.ts'
import { whenResponseCloses } from '../calls/event-stream.ts'
import { SWITCHED } from './observe-requests.ts'

const PATH_CHARS_MAX = 200
/** Polled every few seconds by monitors. */
const PROBES = new Set(['/healthz', '/readyz'])

/**
 * Logs one line for each request once its response is over, including refused and aborted ones: the requester, the
 * route, the result and the duration. No content, no query and no key. Null: access logging is off, and costs nothing.
 */
export const accessLog = plugin<{ accessLogger: Logger | null }>(
  async (app, { accessLogger }) => {
    if (accessLogger === null) return
    app.addHook('onRequest', (request, reply, done) => {
      const startedAt = performance.now()
      const log = () => {
        const path = request.url.split('?', 1)[0]!
        if (PROBES.has(path)) return
        const { key, errorCode } = request
        const isWhole = reply.raw.writableFinished || reply.raw.statusCode === SWITCHED
        const { url: route = '*' } = request.routeOptions
        accessLogger.info(
          {
            requestId: request.id,
            method: request.method,
            // Parameters of a route may be secrets, such as those of links in messages.
            path: route.includes('*') ? path.slice(0, PATH_CHARS_MAX) : route,
            status: isWhole ? reply.raw.statusCode : 'aborted',
            ms: Math.round(performance.now() - startedAt),
            ip: request.ip,
            ...(key && { keyId: key.keyId, accountId: key.accountId }),
            ...(errorCode && { errorCode }),
          },
          'request',
        )
      }
      // Covers streams that a writer took over and clients that left, which Fastify hooks miss.
      whenResponseCloses(reply.raw, log)
      done()
    })
  },
  { name: 'access-log', dependencies: ['observe-requests'] },
)

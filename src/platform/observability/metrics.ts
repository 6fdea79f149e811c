import { createServer, type Server } from 'node:http'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Logger } from './logger.ts'

const LOOP_RESOLUTION_MS = 20

/** A process's Prometheus registry with the usual process metrics in it. */
export function createMetrics(role: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ role })
  // Finer, the measuring of the event loop is most of what an idle process does.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_RESOLUTION_MS })
  return registry
}

/** Serves GET /metrics (and /healthz, for workers) on a port of its own, never the public one. Port 0: not served. */
export function serveMetrics(registry: Registry, port: number, host: string, logger: Logger): Server | null {
  if (port === 0) return null
  const server = createServer(async (request, response) => {
    if (request.url === '/healthz') return response.end('ok\n')
    if (request.url !== '/metrics') return response.writeHead(404).end()
    response.setHeader('content-type', registry.contentType)
    response.end(await registry.metrics())
  })
  server.on('error', (error) => logger.error({ err: error, port }, 'metrics are not served'))
  server.listen(port, host)
  return server.unref()
}

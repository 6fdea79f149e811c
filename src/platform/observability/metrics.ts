import { createServer, type Server } from 'node:http'
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client'
import type { Logger } from './logger.ts'

/** Every look wakes the process, also an idle one. */
const LOOP_RESOLUTION_MS = 200

/** What one process counts for Prometheus: the usual process metrics, and those of its role, or of each of its roles. */
export type ProcessMetrics = ReturnType<typeof createMetrics>

export function createMetrics(role: string) {
  const labelled = (name: string) => {
    const registry = new Registry()
    registry.setDefaultLabels({ role: name })
    return registry
  }
  const own = labelled(role)
  collectDefaultMetrics({ register: own, eventLoopMonitoringPrecision: LOOP_RESOLUTION_MS })
  const others: Registry[] = []
  return {
    /** The registry of a role. */
    of(name: string) {
      if (name === role) return own
      const registry = labelled(name)
      others.push(registry)
      return registry
    },
    /** In Prometheus's text format. */
    async text() {
      if (others.length === 0) return own.metrics()
      // Roles share names of metrics, and differ in their label.
      const ofRoles = await Promise.all(others.map((registry) => registry.getMetricsAsJSON()))
      return `${await own.metrics()}\n${await AggregatorRegistry.aggregate(ofRoles).metrics()}`
    },
  }
}

/** Serves GET /metrics (and /healthz, for workers) on a port of its own, never the public one. Port 0: not served. */
export function serveMetrics(
  metrics: ProcessMetrics,
  port: number,
  host: string,
  logger: Logger,
): Server | null {
  if (port === 0) return null
  const server = createServer(async (request, response) => {
    if (request.url === '/healthz') return response.end('ok\n')
    if (request.url !== '/metrics') return response.writeHead(404).end()
    response.setHeader('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
    response.end(await metrics.text())
  })
  server.on('error', (error) => logger.error({ err: error, port }, 'metrics are not served'))
  server.listen(port, host)
  return server.unref()
}

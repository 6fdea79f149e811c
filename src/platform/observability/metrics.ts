import { createServer, type Server } from 'node:http'
import type { RecordableHistogram } from 'node:perf_hooks'
import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Logger } from './logger.ts'
import { type LoopDelay, recordLoopDelay } from './loop-delay.ts'
import type { Readiness } from './readiness.ts'

const NEVER_MS = 2 ** 31 - 1

/** The Prometheus metrics of one process: the default process metrics and those of its roles. */
export type ProcessMetrics = ReturnType<typeof createMetrics>

export function createMetrics(role: string) {
  const labelled = (name: string) => {
    const registry = new Registry()
    registry.setDefaultLabels({ role: name })
    return registry
  }
  const own = labelled(role)
  collectDefaultMetrics({ register: own, eventLoopMonitoringPrecision: NEVER_MS })
  const updateLag = replaceEventLoopLag(own)
  let loopDelay: LoopDelay | null = null
  const others: Registry[] = []
  return {
    /** The registry of one role. */
    of(name: string) {
      if (name === role) return own
      const registry = labelled(name)
      others.push(registry)
      return registry
    },
    registries: (): readonly Registry[] => [own, ...others],
    /** Starts the continuous measurements. */
    start(): void {
      loopDelay ??= recordLoopDelay()
    },
    stop(): void {
      loopDelay?.stop()
    },
    /** Renders all metrics in Prometheus's text format. */
    async text() {
      if (loopDelay !== null) updateLag(loopDelay.histogram)
      if (others.length === 0) return own.metrics()
      // Roles use the same metric names and differ in a label.
      const ofRoles = await Promise.all(others.map((registry) => registry.getMetricsAsJSON()))
      return `${await own.metrics()}\n${await AggregatorRegistry.aggregate(ofRoles).metrics()}`
    },
  }
}

/** The event loop delays since the last read, by the names of prom-client's metrics. */
const LAG: Record<string, (histogram: RecordableHistogram) => number> = {
  min: ({ min }) => min,
  max: ({ max }) => max,
  mean: ({ mean }) => mean,
  stddev: ({ stddev }) => stddev,
  p50: (histogram) => histogram.percentile(50),
  p90: (histogram) => histogram.percentile(90),
  p99: (histogram) => histogram.percentile(99),
}

/** Replaces prom-client's event loop metrics, see `recordLoopDelay`. Returns a function that updates them. */
function replaceEventLoopLag(registry: Registry): (delays: RecordableHistogram) => void {
  const gauges = Object.entries(LAG).map(([figure, read]) => {
    const name = `nodejs_eventloop_lag_${figure}_seconds`
    registry.removeSingleMetric(name)
    const help = `How long the event loop was held up since the last scrape: ${figure}.`
    return { gauge: new Gauge({ name, help, registers: [registry] }), read }
  })
  return (delays) => {
    if (delays.count === 0) return
    for (const { gauge, read } of gauges) gauge.set(read(delays) / 1e9)
    delays.reset()
  }
}

/**
 * Serves GET /metrics, /healthz and, for a process with readiness, /readyz, on a separate port that is never public.
 * Its connections do not queue behind those of clients. Port 0: not served.
 */
export function serveMetrics(
  metrics: ProcessMetrics,
  port: number,
  host: string,
  logger: Logger,
  readiness?: () => Promise<Readiness>,
): Server | null {
  if (port === 0) return null
  metrics.start()
  const server = createServer(async (request, response) => {
    if (request.url === '/healthz') return response.end('ok\n')
    if (request.url === '/readyz' && readiness) {
      const answer = await readiness()
      response.writeHead(answer.status === 'not-ready' ? 503 : 200, { 'content-type': 'application/json' })
      return response.end(JSON.stringify(answer))
    }
    if (request.url !== '/metrics') return response.writeHead(404).end()
    response.setHeader('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
    response.end(await metrics.text())
  })
  server.on('error', (error) => logger.error({ err: error, port }, 'metrics server failed'))
  server.listen(port, host)
  return server.unref()
}

import type { ApiRuntime } from '../src/compose/api.ts'
import { readConfig } from '../src/config.ts'
import { createLogger } from '../src/platform/observability/logger.ts'
import { createMetrics, serveMetrics } from '../src/platform/observability/metrics.ts'
import { startMetricExport, startTracing } from '../src/platform/observability/start-tracing.ts'
import { checkPooler } from '../src/platform/postgres/check-pooler.ts'
import { explainFailedStart } from '../src/platform/process/explain-failed-start.ts'
import { stopOnSignal } from '../src/platform/process/stop-on-signal.ts'

/**
 * The workers' entry: `node workers/main.ts dispatch` or `… settlement`, or `… all` for the whole gateway in one
 * process. Runs until SIGTERM or SIGINT, then drains. A process loads the code of its own role only.
 */
const ROLES = {
  dispatch: async () =>
    (await import('../src/compose/dispatch.ts')).startDispatchRole(config, logger, metrics.of('dispatch')),
  settlement: async () =>
    (await import('./settlement-role.ts')).startSettlementRole(config, logger, metrics.of('settlement')),
  all: async () => (await import('./all-roles.ts')).startAllRoles(config, logger, metrics),
}

const role = process.argv[2] as keyof typeof ROLES
if (!Object.hasOwn(ROLES, role)) {
  process.stderr.write(`usage: node workers/main.ts ${Object.keys(ROLES).join('|')}\n`)
  process.exit(2)
}
process.title = `shuntyard-${role}`
const started = explainFailedStart(process.title)
const config = readConfig(process.env)
await checkPooler(config.databaseUrl)
const tracing = await startTracing(role, process.env)
const logger = createLogger(config.logLevel, role)
const metrics = createMetrics(role)
const metricExport = await startMetricExport(role, process.env, metrics.registries)
const worker: { stop(): Promise<void> } & Partial<Pick<ApiRuntime, 'readiness'>> = await ROLES[role]()
serveMetrics(metrics, config.metricsPort, config.metricsHost, logger, worker.readiness)
logger.info('worker running')
started()

stopOnSignal({
  name: 'worker',
  graceMs: config.shutdownGraceMs,
  async stop() {
    await worker.stop()
    await Promise.all([tracing.stop(), metricExport.stop()])
  },
  logger,
})

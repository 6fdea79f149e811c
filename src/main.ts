import { createApiRuntime } from './compose/api.ts'
import { readConfig } from './config.ts'
import { createAccessLogger, createLogger } from './platform/observability/logger.ts'
import { createMetrics, serveMetrics } from './platform/observability/metrics.ts'
import { startTracing } from './platform/observability/start-tracing.ts'
import { checkPooler } from './platform/postgres/check-pooler.ts'
import { explainFailedStart } from './platform/process/explain-failed-start.ts'
import { stopOnSignal } from './platform/process/stop-on-signal.ts'

/** The entry point of the API tier: listens until SIGTERM or SIGINT, then drains. */
process.title = 'shuntyard-api'
const started = explainFailedStart(process.title)
const config = readConfig(process.env)
await checkPooler(config.databaseUrl)
const tracing = await startTracing('api', process.env)
const logger = createLogger(config.logLevel, 'api')
const metrics = createMetrics('api')
const accessLogger = config.accessLog ? createAccessLogger(config.logLevel, 'api') : null
const runtime = await createApiRuntime(config, logger, metrics.of('api'), { accessLogger })
serveMetrics(metrics, config.metricsPort, config.metricsHost, logger, runtime.readiness)
const address = await runtime.app.listen({ port: config.port, host: config.host, backlog: 4096 })
logger.info({ address }, 'api listening')
started()

stopOnSignal({
  name: 'api',
  graceMs: config.shutdownGraceMs,
  async stop() {
    await runtime.stop()
    await tracing.stop()
  },
  left: () => ({ pendingCalls: runtime.pendingCalls() }),
  logger,
})

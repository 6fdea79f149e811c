import { readConfig } from './config.ts'
import { createLogger } from './platform/logger.ts'
import { createMetrics, serveMetrics } from './platform/metrics.ts'
import { startTracing } from './platform/tracing.ts'
import { createApiRuntime } from './runtime.ts'

/** The API tier's entry: listens until SIGTERM or SIGINT, then drains. */
process.title = 'switchyard-api'
const config = readConfig(process.env)
const tracing = await startTracing('api', process.env)
const logger = createLogger(config.logLevel, 'api')
const metrics = createMetrics('api')
const runtime = await createApiRuntime(config, logger, metrics)
serveMetrics(metrics, config.metricsPort, config.host, logger)
const address = await runtime.app.listen({ port: config.port, host: config.host, backlog: 4096 })
logger.info({ address }, 'api listens')

let stopping = false
async function stop(signal: string): Promise<void> {
  if (stopping) return
  stopping = true
  logger.info({ signal, pendingCalls: runtime.pendingCalls() }, 'api stops')
  await runtime.stop()
  await tracing.stop()
  process.exit(0)
}
process.on('SIGTERM', () => void stop('SIGTERM'))
process.on('SIGINT', () => void stop('SIGINT'))

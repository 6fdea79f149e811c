import { readConfig } from '../src/config.ts'
import { createLogger } from '../src/platform/logger.ts'
import { createMetrics, serveMetrics } from '../src/platform/metrics.ts'
import { startTracing } from '../src/platform/tracing.ts'
import { startDispatchRole } from './dispatch-role.ts'
import { startSettlementRole } from './settlement-role.ts'

/** The workers' entry: `node workers/main.ts dispatch` or `… settlement`. Runs until SIGTERM or SIGINT, then drains. */
const ROLES = { dispatch: startDispatchRole, settlement: startSettlementRole }

const role = process.argv[2]
if (role !== 'dispatch' && role !== 'settlement') {
  process.stderr.write('usage: node workers/main.ts dispatch|settlement\n')
  process.exit(2)
}
process.title = `switchyard-${role}`
const config = readConfig(process.env)
const tracing = await startTracing(role, process.env)
const logger = createLogger(config.logLevel, role)
const metrics = createMetrics(role)
const worker = await ROLES[role](config, logger, metrics)
serveMetrics(metrics, config.metricsPort, config.host, logger)
logger.info('worker runs')

let stopping = false
async function stop(signal: string): Promise<void> {
  if (stopping) return
  stopping = true
  logger.info({ signal }, 'worker stops')
  await worker.stop()
  await tracing.stop()
  process.exit(0)
}
process.on('SIGTERM', () => void stop('SIGTERM'))
process.on('SIGINT', () => void stop('SIGINT'))

import type { Colocation } from '../src/calls/colocation.ts'
import type { Config } from '../src/config.ts'
import { createAccessLogger, type Logger } from '../src/platform/observability/logger.ts'
import type { ProcessMetrics } from '../src/platform/observability/metrics.ts'
import { type ApiRuntime, createApiRuntime } from '../src/runtime.ts'
import { startDispatchRole } from './dispatch-role.ts'
import { startSettlementRole } from './settlement-role.ts'

/**
 * The whole gateway in one process, for a small machine: API, dispatch and settlement with connections of their own. They
 * share one event loop and one fate, and a call stays within the process where it can (see Colocation).
 */
export async function startAllRoles(
  config: Readonly<Config>,
  logger: Logger,
  metrics: ProcessMetrics,
): Promise<Pick<ApiRuntime, 'readiness' | 'stop'>> {
  // Who serves calls is there before they come, and stays until the last has ended.
  const colocation: Colocation = {}
  const settlement = await startSettlementRole(config, logger, metrics.of('settlement'))
  const dispatch = await startDispatchRole(config, logger, metrics.of('dispatch'), colocation)
  const api = await createApiRuntime(config, logger, metrics.of('api'), {
    colocation,
    accessLogger: config.accessLog ? createAccessLogger(config.logLevel, 'all') : null,
  })
  const address = await api.app.listen({ port: config.port, host: config.host, backlog: 4096 })
  logger.info({ address }, 'api listens')
  return {
    readiness: api.readiness,
    async stop() {
      for (const role of [api, dispatch, settlement]) await role.stop()
    },
  }
}

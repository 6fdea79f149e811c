import type { Colocation } from '../src/calls/colocation.ts'
import type { Config } from '../src/config.ts'
import { createAccessLogger, type Logger } from '../src/platform/observability/logger.ts'
import type { ProcessMetrics } from '../src/platform/observability/metrics.ts'
import { type ApiRuntime, createApiRuntime } from '../src/runtime.ts'
import { startDispatchRole } from './dispatch-role.ts'
import { startSettlementRole } from './settlement-role.ts'

/**
 * The whole gateway in one process, for a small machine: API, dispatch and settlement with separate connections. They
 * share one event loop and fail together, and a call stays within the process if possible (see Colocation).
 */
export async function startAllRoles(
  config: Readonly<Config>,
  logger: Logger,
  metrics: ProcessMetrics,
): Promise<Pick<ApiRuntime, 'readiness' | 'stop'>> {
  // Workers start before the API accepts calls, and stop after the last call has ended.
  const colocation: Colocation = {}
  const settlement = await startSettlementRole(config, logger, metrics.of('settlement'))
  const dispatch = await startDispatchRole(config, logger, metrics.of('dispatch'), colocation)
  const api = await createApiRuntime(config, logger, metrics.of('api'), {
    colocation,
    accessLogger: config.accessLog ? createAccessLogger(config.logLevel, 'all') : null,
  })
  const address = await api.app.listen({ port: config.port, host: config.host, backlog: 4096 })
  logger.info({ address }, 'api listening')
  return {
    readiness: api.readiness,
    async stop() {
      for (const role of [api, dispatch, settlement]) await role.stop()
    },
  }
}

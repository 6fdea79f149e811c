import { type ApiRuntime, createApiRuntime } from '../src/compose/api.ts'
import { startDispatchRole } from '../src/compose/dispatch.ts'
import type { Config } from '../src/config.ts'
import { createAccessLogger, type Logger } from '../src/platform/observability/logger.ts'
import type { ProcessMetrics } from '../src/platform/observability/metrics.ts'
import { startSettlementRole } from './settlement-role.ts'

/**
 * The whole gateway in one process, for a small machine: API, dispatch and settlement with separate connections. They
 * share one event loop and fail together, and a call stays within the process if possible (see src/calls/in-process-link.ts).
 */
export async function startAllRoles(
  config: Readonly<Config>,
  logger: Logger,
  metrics: ProcessMetrics,
): Promise<Pick<ApiRuntime, 'readiness' | 'stop'>> {
  // Workers start before the API accepts calls, and stop after the last call has ended.
  let api: ApiRuntime | null = null
  const settlement = await startSettlementRole(config, logger, metrics.of('settlement'))
  const dispatch = await startDispatchRole(config, logger, metrics.of('dispatch'), (shard) =>
    api ? api.localHub(shard) : null,
  )
  const runtime = await createApiRuntime(config, logger, metrics.of('api'), {
    takeSlot: dispatch.takeSlot,
    accessLogger: config.accessLog ? createAccessLogger(config.logLevel, 'all') : null,
  })
  api = runtime
  const address = await runtime.app.listen({ port: config.port, host: config.host, backlog: 4096 })
  logger.info({ address }, 'api listening')
  return {
    readiness: runtime.readiness,
    async stop() {
      for (const role of [runtime, dispatch, settlement]) await role.stop()
    },
  }
}

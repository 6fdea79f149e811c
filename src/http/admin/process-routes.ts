import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ProcessView, QueuesView } from '../../core/api/operations.ts'
import { List } from '../../core/api/shared.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { readProcesses } from '../../platform/observability/process-report.ts'
import { isSettlementBehind, readQueues } from '../../platform/queues/queue-stats.ts'
import { operatorRoute } from '../plugins/operator-access.ts'

/** A shard that takes longer is left out. */
const TIMEOUT_MS = 2_000

/** GET /processes and /queues: running processes and waiting jobs. */
export const processRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { claimWait } = app.billing
  const { redis, queues, hostClock: clock } = app.operators
  const once = createSingleFlight()

  app.get('/processes', operatorRoute('read', List(ProcessView)), async () => ({
    object: 'list' as const,
    data: await readProcesses(redis),
  }))

  app.get('/queues', operatorRoute('read', QueuesView), async () => {
    const [stats, wait] = await once('queues', () =>
      Promise.all([readQueues(redis, queues, clock(), TIMEOUT_MS), claimWait()]),
    )
    return {
      object: 'queues' as const,
      at: isoTime(clock()),
      ...stats,
      claim_wait: wait,
      settlement_behind: isSettlementBehind(stats.data),
    }
  })
}

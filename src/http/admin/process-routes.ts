import type { FastifyPluginAsync } from 'fastify'
import type { ProcessView, QueuesView } from '../../core/api/operations.ts'
import type { OperatorList } from '../../core/api/shared.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { readProcesses } from '../../platform/observability/process-report.ts'
import { isSettlementBehind, readQueues } from '../../platform/queues/queue-figures.ts'
import type { OperatorServices } from './operator-services.ts'

/** GET /processes and /queues: what runs, and what waits. */
export const processRoutes: FastifyPluginAsync<OperatorServices> = async (app, services) => {
  const { redis, queues, claimWait, clock } = services
  const once = createSingleFlight()

  app.get('/processes', async (): Promise<OperatorList<ProcessView>> => {
    return { object: 'list', data: await readProcesses(redis) }
  })

  app.get('/queues', async (): Promise<QueuesView> => {
    const reading = once('queues', () => Promise.all([readQueues(redis, queues, clock()), claimWait()]))
    const [data, wait] = await reading
    return {
      object: 'queues',
      at: new Date(clock()).toISOString(),
      data,
      claim_wait: wait,
      settlement_behind: isSettlementBehind(data),
    }
  })
}

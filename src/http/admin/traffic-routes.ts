import type { FastifyPluginAsync } from 'fastify'
import type { TrafficView } from '../../core/api/operations.ts'
import { type QueryParameters, readChoice, readCount, refuseUnknown } from '../../core/billing/usage-query.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { MINUTE_MS, trafficSlots } from '../../core/operations/traffic.ts'
import { readTraffic } from '../../platform/observability/traffic.ts'
import type { OperatorServices } from './operator-services.ts'
import { trafficView } from './traffic-view.ts'

const MINUTES_MAX = 60

/** GET /traffic: requests, errors, calls, tokens and spend of the last minutes, as a series. */
export const trafficRoutes: FastifyPluginAsync<OperatorServices> = async (app, { redis, clock }) => {
  const once = createSingleFlight()

  app.get('/traffic', async (request): Promise<TrafficView> => {
    const query = request.query as QueryParameters
    refuseUnknown(query, ['minutes', 'step'])
    const minutes = readCount(query, 'minutes', MINUTES_MAX, MINUTES_MAX)
    const stepMs = Number(readChoice(query, 'step', ['10', '60'], minutes > 10 ? '60' : '10')) * 1000
    // Up to the end of the step that runs, so that all steps are whole ones of the clock.
    const toMs = (Math.floor(clock() / stepMs) + 1) * stepMs
    const fromMs = toMs - minutes * MINUTE_MS
    const hashes = await once(`${fromMs} ${toMs}`, () => readTraffic(redis, fromMs, toMs))
    return trafficView(trafficSlots(hashes, { fromMs, toMs, stepMs }), stepMs, toMs)
  })
}

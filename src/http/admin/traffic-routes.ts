import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { TrafficView } from '../../core/api/operations.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { MINUTE_MS, trafficSlots } from '../../core/operations/traffic.ts'
import { readTraffic } from '../../platform/observability/traffic.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { trafficView } from './traffic-view.ts'

const TrafficQuery = Type.Object(
  {
    minutes: Type.Integer({ minimum: 1, maximum: 60, default: 60 }),
    step: Type.Optional(Type.Enum(['10', '60'])),
  },
  CLOSED,
)

/** GET /traffic: requests, errors, calls, tokens and spend of the last minutes, as a series. */
export const trafficRoutes: FastifyPluginAsyncTypebox<{ redis: Redis; clock: () => number }> = async (
  app,
  { redis, clock },
) => {
  const once = createSingleFlight()

  const ofTraffic = { schema: { querystring: TrafficQuery, response: { 200: TrafficView } } }
  app.get('/traffic', ofTraffic, async ({ query: { minutes, step } }) => {
    const stepMs = Number(step ?? (minutes > 10 ? '60' : '10')) * 1000
    // Up to the end of the step that runs, so that all steps are whole ones of the clock.
    const toMs = (Math.floor(clock() / stepMs) + 1) * stepMs
    const fromMs = toMs - minutes * MINUTE_MS
    const hashes = await once(`${fromMs} ${toMs}`, () => readTraffic(redis, fromMs, toMs))
    return trafficView(trafficSlots(hashes, { fromMs, toMs, stepMs }), stepMs, toMs)
  })
}

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type LiveTraffic, type TrafficMetrics, TrafficView } from '../../core/api/operations.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { isoTime, MINUTE_MS } from '../../core/kernel/time.ts'
import { readTraffic } from '../../platform/observability/traffic.ts'
import {
  addCounts,
  countsOf,
  type TrafficCounts,
  type TrafficSlot,
  trafficSlots,
} from '../../platform/observability/traffic-counts.ts'
import { operatorRoute } from '../plugins/operator-access.ts'

const TrafficQuery = Type.Object(
  {
    minutes: Type.Integer({ minimum: 1, maximum: 60, default: 60 }),
    step: Type.Optional(Type.Enum(['10', '60'])),
  },
  CLOSED,
)

/** GET /traffic: requests, errors, calls, tokens and spend of the last minutes, as a series. */
export const trafficRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { redis, hostClock: clock } = app.operators
  const once = createSingleFlight()

  const ofTraffic = operatorRoute('read', TrafficView, { querystring: TrafficQuery })
  app.get('/traffic', ofTraffic, async ({ query: { minutes, step } }) => {
    const stepMs = Number(step ?? (minutes > 10 ? '60' : '10')) * 1000
    // Until the end of the current step, so that all steps are complete.
    const toMs = (Math.floor(clock() / stepMs) + 1) * stepMs
    const fromMs = toMs - minutes * MINUTE_MS
    const hashes = await once(`${fromMs} ${toMs}`, () => readTraffic(redis, fromMs, toMs))
    return trafficView(trafficSlots(hashes, { fromMs, toMs, stepMs }), stepMs, toMs)
  })
}

/** The series of consecutive slots, and their total. */
function trafficView(slots: readonly TrafficSlot[], stepMs: number, toMs: number): TrafficView {
  const total: TrafficCounts = new Map()
  for (const { counts } of slots) addCounts(total, counts)
  return {
    object: 'traffic',
    from: isoTime(slots[0]?.atMs ?? toMs),
    to: isoTime(toMs),
    step_seconds: stepMs / 1000,
    data: slots.map(({ atMs, counts }) => ({ at: isoTime(atMs), ...metricsOf(counts) })),
    total: metricsOf(total),
  }
}

function metricsOf(counts: TrafficCounts): TrafficMetrics {
  const requests = countsOf(counts, 'requests')
  const all = sum(requests)
  return {
    requests,
    errors: countsOf(counts, 'errors'),
    calls: countsOf(counts, 'calls'),
    prompt_tokens: Number(counts.get('prompt_tokens') ?? 0n),
    completion_tokens: Number(counts.get('completion_tokens') ?? 0n),
    spend_usd: formatUsd(counts.get('spend_pico') ?? 0n),
    server_error_rate: all === 0 ? null : (requests['5xx'] ?? 0) / all,
  }
}

/** Rates over one slot. */
export function liveTraffic({ counts }: TrafficSlot, stepMs: number): LiveTraffic {
  const seconds = stepMs / 1000
  const { requests, calls, prompt_tokens, completion_tokens } = metricsOf(counts)
  const spendPico = ((counts.get('spend_pico') ?? 0n) * 60_000n) / BigInt(stepMs)
  return {
    requests_per_second: sum(requests) / seconds,
    server_errors_per_second: (requests['5xx'] ?? 0) / seconds,
    calls_per_second: sum(calls) / seconds,
    tokens_per_second: (prompt_tokens + completion_tokens) / seconds,
    spend_usd_per_minute: formatUsd(spendPico),
  }
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, count) => all + count, 0)

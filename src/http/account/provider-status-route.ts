import type { FastifyPluginAsync } from 'fastify'
import { CALLS_MIN, type ModelStatsStore } from '../../billing/reports/model-stats-store.ts'
import { HOURS_KEPT_MS, type ProviderHours } from '../../billing/reports/provider-hours.ts'
import { ProviderStatusList } from '../../core/api/provider-status.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { BREAKER_ALARMS } from '../../core/failover/circuit-breaker.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { AlarmStore } from '../../operators/alarm-store.ts'
import { breakerViews, type FollowedBreakers } from '../account-api/offer-view.ts'
import { providerStatusList } from '../account-api/provider-status-view.ts'
import { needs } from '../plugins/operator-access.ts'

interface StatusSources {
  alarms: Pick<AlarmStore, 'latestOf'>
  providerHours: Pick<ProviderHours, 'read' | 'latency'>
  modelStats: Pick<ModelStatsStore, 'stats'>
  catalog: () => CatalogSnapshot
  offers: { health: FollowedBreakers }
  clock: () => number
}

/** How long a computed status is used by an instance. */
const FRESH_MS = 30_000

/** Computes the status of providers, shared by concurrent requests. */
export type ReadProviderStatus = () => Promise<ProviderStatusList>

export function createProviderStatus(sources: StatusSources): ReadProviderStatus {
  const { clock } = sources
  let kept: { readAt: number; list: Promise<ProviderStatusList> } | null = null
  const read = async (): Promise<ProviderStatusList> => {
    const nowMs = clock()
    const hours = await sources.providerHours.read(nowMs - HOURS_KEPT_MS)
    const latency = await sources.providerHours.latency(nowMs - DAY_MS, nowMs, CALLS_MIN)
    const alarms = await sources.alarms.latestOf(BREAKER_ALARMS)
    const stats = await sources.modelStats.stats()
    const breakers = breakerViews(sources.offers.health)
    return providerStatusList({ catalog: sources.catalog(), hours, latency, breakers, alarms, stats, nowMs })
  }
  return () => {
    if (kept === null || clock() - kept.readAt >= FRESH_MS) {
      const list = read()
      const reading = { readAt: clock(), list }
      kept = reading
      list.catch(() => {
        if (kept === reading) kept = null
      })
    }
    return kept.list
  }
}

const schema = { response: { 200: ProviderStatusList } }

/** GET /provider-status, public if operators publish it. */
export const providerStatusRoute: FastifyPluginAsync = async (app) => {
  app.get('/provider-status', { schema }, async (_request, reply) => {
    const { providerStatusPublic } = await app.operators.settings.read()
    if (!providerStatusPublic)
      throw new ApiError('not_found', 'The status of providers is not public on this gateway.')
    reply.header('cache-control', 'public, max-age=30')
    return app.catalog.providerStatus()
  })
}

/** The same for operators, regardless of that setting. */
export const operatorProviderStatusRoute: FastifyPluginAsync = async (app) => {
  const { providerStatus } = app.catalog
  app.get('/provider-status', { ...needs('read'), schema }, () => providerStatus())
}

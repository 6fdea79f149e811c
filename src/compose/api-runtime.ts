import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { FindLocalHub, TakeSlotOfShard } from '../calls/in-process-link.ts'
import type { Config } from '../config.ts'
import { buildApp } from '../http/app.ts'
import { apiRoutes } from '../http/routes.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Readiness } from '../platform/observability/readiness.ts'
import { composeApi } from './api.ts'
import { composeClients } from './clients.ts'

/** The composed API tier. */
export interface ApiRuntime {
  app: FastifyInstance
  /** Calls in flight. */
  pendingCalls: () => number
  /** Whether the instance can take calls. */
  readiness: () => Promise<Readiness>
  /** What dispatch workers in this process deliver frames to; null once it has stopped. */
  localHub: FindLocalHub
  /** Stops accepting and lets responses finish for a while. */
  stop(): Promise<void>
}

/** Builds and connects the API tier, which does not listen yet. Throws for unsafe Redis settings. */
export async function createApiRuntime(
  config: Readonly<Config>,
  plainLogger: Logger,
  registry?: Registry,
  { takeSlot, accessLogger = null }: { takeSlot?: TakeSlotOfShard; accessLogger?: Logger | null } = {},
): Promise<ApiRuntime> {
  const clients = await composeClients('api', config, plainLogger, registry)
  const { report, resources } = clients
  const { services, paths, readiness: ask } = await composeApi(config, clients, takeSlot)
  let isStopping = false
  const readiness: ApiRuntime['readiness'] = async () =>
    isStopping ? { status: 'not-ready', reason: 'stopping' } : ask()
  const pendingCalls = () => sum(paths.map(({ hub }) => hub.size))
  const app = await buildApp({ ...clients, services, readiness, accessLogger, pendingCalls }, apiRoutes)
  report.start(clients.redis, () => ({
    inFlightCalls: pendingCalls() + sum(paths.map(({ load }) => load.entering)),
    concurrency: config.pendingCallsMax,
  }))
  let hasStopped = false
  return {
    app,
    pendingCalls,
    readiness,
    localHub: (shard) => (hasStopped ? null : paths[shard]!.hub),
    async stop() {
      isStopping = true
      // A call that exceeds the grace period ends with its real state.
      const failAll = () => {
        for (const { hub } of paths) hub.failAll()
      }
      const timer = setTimeout(failAll, config.shutdownGraceMs)
      // Load balancers see the failed readiness before connections are refused.
      await delay(Math.min(config.shutdownDelayMs, config.shutdownGraceMs))
      await app.close()
      await services.backgroundCalls.idle()
      clearTimeout(timer)
      // A worker of this process may still run calls: it learns from Redis that the channel has no subscriber.
      hasStopped = true
      await report.stop()
      await resources.disposeAsync()
    },
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

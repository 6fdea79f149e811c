import { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import { type Connections, openConnections } from '../platform/connections.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { createProcessReport, type ProcessReport } from '../platform/observability/process-report.ts'
import { closeCallQueues, openCallQueues } from '../platform/queues/call-queues.ts'
import { createCatalogQueue, createEventsQueue, createMailQueue } from '../platform/queues/queues.ts'
import { type FleetTime, startFleetClock } from '../platform/redis/fleet-clock.ts'
import { announceKeyChange } from '../platform/redis/key-changes.ts'
import { checkRedisSettings, type Redis } from '../platform/redis/redis.ts'
import { checkShards } from '../platform/redis/redis-epoch.ts'
import { refuseFormerKeys } from '../platform/redis/refuse-former-keys.ts'

/** The name and mode of the first Redis connection of each role. */
const MAIN_REDIS = {
  api: { name: 'shuntyard-api-holds', mode: 'fail-fast' },
  // With the deadlines of `follow`, streams broke off while a replica was promoted on a busy machine.
  dispatch: { name: 'shuntyard-dispatch-frames', mode: 'wait' },
  settlement: { name: 'shuntyard-settlement', mode: 'wait' },
} as const

/** The first clients of every process of the gateway. */
export interface Clients {
  report: ProcessReport
  logger: Logger
  registry: Registry
  /** Opens further connections, which are closed last. */
  connections: Connections
  redis: Redis
  /** The fleet's time, in which the deadlines of calls are set. */
  fleetClock: FleetTime
  /** Announces a changed account to every process. */
  announceAccount: (accountId: string) => Promise<void>
  /** Ends everything that was started, in reverse order. */
  resources: AsyncDisposableStack
}

/** Connects a process to Redis and checks its settings. Throws if Redis is configured unsafely. */
export async function composeClients(
  role: keyof typeof MAIN_REDIS,
  config: Readonly<Config>,
  plainLogger: Logger,
  registry: Registry = new Registry(),
): Promise<Clients> {
  const resources = new AsyncDisposableStack()
  const report = createProcessReport(role, plainLogger, registry)
  const { logger } = report
  const connections = openConnections(config, logger)
  resources.defer(() => connections.close())
  const redis = connections.redis(MAIN_REDIS[role].name, MAIN_REDIS[role].mode)
  await checkRedisSettings(redis, logger)
  await refuseFormerKeys(redis)
  await checkShards(redis)
  const fleetClock = await startFleetClock({ redis, logger })
  resources.defer(() => fleetClock.stop())
  const announceAccount = (accountId: string) => announceKeyChange(redis, { accountId })
  return {
    ...{ report, logger, registry, connections, redis, announceAccount, resources },
    fleetClock: fleetClock.now,
  }
}

/** Every queue, over one connection to each server: those of the calls of each shard, and the fleet's. */
export function openQueues(redis: Redis, resources: AsyncDisposableStack) {
  const calls = openCallQueues(redis)
  resources.defer(() => closeCallQueues(calls))
  const ofFleet = {
    events: createEventsQueue(redis),
    catalog: createCatalogQueue(redis),
    mail: createMailQueue(redis),
  }
  resources.defer(async () => void (await Promise.all(Object.values(ofFleet).map((queue) => queue.close()))))
  return { calls, ...ofFleet }
}

import { Registry } from 'prom-client'
import { createAttemptChain } from '../src/calls/attempts/attempt-chain.ts'
import { createAttemptMeter } from '../src/calls/attempts/attempt-report.ts'
import { createCallMetrics } from '../src/calls/dispatch/call-telemetry.ts'
import { createFinishScript } from '../src/calls/dispatch/finish-calls.ts'
import { RunningCalls } from '../src/calls/dispatch/running-calls.ts'
import { createCallBodies, createHeldBodies } from '../src/calls/relay/call-bodies.ts'
import { createCompletionArchive } from '../src/calls/relay/completion-archive.ts'
import { watchOverlay } from '../src/catalog/catalog-overlay.ts'
import { createCatalogStore } from '../src/catalog/catalog-store.ts'
import { openProviderKeyVault } from '../src/catalog/provider-key-vault.ts'
import type { Config } from '../src/config.ts'
import { newId } from '../src/core/kernel/ids.ts'
import { openConnections } from '../src/platform/connections.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { createProcessReport } from '../src/platform/observability/process-report.ts'
import { createCallJobs } from '../src/platform/queues/call-jobs.ts'
import { openClaimedJobs } from '../src/platform/queues/claimed-jobs.ts'
import {
  createDispatchQueue,
  createSettlementQueue,
  DISPATCH_QUEUE,
  enqueueSettlements,
  settlementJobsLeft,
} from '../src/platform/queues/queues.ts'
import { startFleetClock } from '../src/platform/redis/fleet-clock.ts'
import { checkRedisSettings } from '../src/platform/redis/redis.ts'
import { createEpochReader, watchEpoch } from '../src/platform/redis/redis-epoch.ts'
import { createSealer } from '../src/platform/sealing.ts'
import { warmTokenizer } from '../src/providers/count-tokens.ts'
import { createTransport } from '../src/providers/http/transport.ts'
import { createProviderClients } from '../src/providers/provider-clients.ts'
import { createBreakerBoard } from '../src/routing/circuit-breaker/breaker-board.ts'
import { exportBreakers } from '../src/routing/circuit-breaker/breaker-metrics.ts'
import { createMeasureLog } from '../src/routing/measure-log.ts'
import { createRetryBudget } from '../src/routing/retry-budget.ts'
import { composeDispatch } from './compose-dispatch.ts'

/** A call waits for its key, so PostgreSQL is not waited for long. */
const KEYS_POSTGRES = {
  poolSize: 2,
  connectTimeoutMs: 1_500,
  statementTimeoutMs: 1_500,
}

/** An idle worker looks for calls this often. */
const WAIT_SECONDS = 1

/** The dispatch process, composed: claims calls, runs the failover chain, publishes frames. */
export async function startDispatchRole(
  config: Readonly<Config>,
  plainLogger: Logger,
  registry: Registry = new Registry(),
): Promise<{ stop(): Promise<void> }> {
  const report = createProcessReport('dispatch', plainLogger, registry)
  const { logger } = report
  const connections = openConnections(config, logger)
  const redisFor = (name: string) => connections.redis(`switchyard-dispatch-${name}`, 'wait')
  const redis = redisFor('frames')
  const queueRedis = redisFor('queue')
  const subscriber = redisFor('control')
  await checkRedisSettings(redis, logger)
  const fleetClock = await startFleetClock({ redis, logger })

  const overlay = await watchOverlay({ redis, subscriber, logger })
  const catalog = await createCatalogStore({ ...config, environment: process.env, overlay, logger })
  const calls = new RunningCalls()
  const workerId = newId('worker')
  const transport = createTransport(config)
  // Connects when the first call on a client's own key comes.
  const keysPostgres = connections.postgres('switchyard-dispatch-keys', KEYS_POSTGRES)
  const byokKeys = await openProviderKeyVault({
    postgres: keysPostgres,
    redis,
    subscriber,
    masterKeys: config.masterKeys,
    logger,
    clock: Date.now,
  })
  const board = await createBreakerBoard({ redis, subscriber, settings: config, now: Date.now, logger })
  exportBreakers(board, registry)
  const measures = createMeasureLog({ redis, now: Date.now, logger })
  const budget = createRetryBudget({
    redis,
    limits: { percent: config.retryBudgetPercent, floor: config.retryBudgetFloor },
    now: Date.now,
    logger,
  })
  const dispatchQueue = createDispatchQueue(redis)
  const settlementQueue = createSettlementQueue(redis)
  await warmTokenizer()
  const epoch = await watchEpoch({ redis, readEpoch: createEpochReader(redis), logger })
  const bodies = createCallBodies({
    ...config,
    name: 'switchyard-dispatch-bodies',
    sealer: createSealer(config.masterKeys, 'call-body'),
    logger,
  })
  const dispatch = await composeDispatch({
    workerId,
    redis,
    subscriber,
    epoch,
    jobs: openClaimedJobs(DISPATCH_QUEUE, {
      redis: queueRedis,
      blocking: redisFor('wake'),
      lockMs: config.jobLockMs,
      waitSeconds: WAIT_SECONDS,
      logger,
      clock: Date.now,
    }),
    callJobs: createCallJobs(redis),
    dispatchQueue,
    enqueueSettlements: (records) => enqueueSettlements(settlementQueue, records),
    settlementJobsLeft: (jobIds) => settlementJobsLeft(redis, jobIds),
    runFinish: createFinishScript(redis, workerId, Date.now),
    calls,
    chain: createAttemptChain({
      catalog: catalog.snapshot,
      providers: createProviderClients({
        transport,
        environment: process.env,
        connectTimeoutMs: config.connectTimeoutMs,
        now: Date.now,
      }),
      byokKeys,
      board,
      meter: createAttemptMeter(measures, registry),
      budget,
      settings: config,
      logger,
      now: fleetClock.now,
      random: Math.random,
    }),
    catalog: catalog.snapshot,
    bodies: createHeldBodies(bodies, config),
    archive: createCompletionArchive(
      redis,
      createSealer(config.masterKeys, 'kept-reply'),
      config.keptReplies,
    ),
    countCall: createCallMetrics(registry, report),
    settings: {
      concurrency: config.workerConcurrency,
      lockMs: config.jobLockMs,
      graceMs: config.shutdownGraceMs,
      unconfirmedSettlementsMax: config.unconfirmedSettlementsMax,
      wholeAnswerBytesMax: config.keptReplies.perAnswer,
    },
    logger,
    clock: Date.now,
    fleetClock: fleetClock.now,
  })
  report.start(redis, () => ({ inFlightCalls: calls.size, concurrency: config.workerConcurrency }))

  return {
    async stop() {
      await dispatch.stop()
      await report.stop()
      epoch.stop()
      fleetClock.stop()
      await Promise.all([byokKeys.stop(), board.close(), measures.close(), budget.close(), transport.close()])
      await Promise.all([dispatchQueue.close(), settlementQueue.close()])
      catalog.close()
      overlay.stop()
      // QUIT, not disconnect: the last frames are still on their way.
      await redis.quit()
      await Promise.all([connections.close(), bodies.close()])
    },
  }
}

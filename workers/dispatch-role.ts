import { Registry } from 'prom-client'
import { createHoldStore } from '../src/billing/holds/hold-store.ts'
import { createAttemptChain } from '../src/calls/attempts/attempt-chain.ts'
import { createAttemptMeter } from '../src/calls/attempts/attempt-meter.ts'
import { createCallTally } from '../src/calls/dispatch/call-tally.ts'
import { createFinisher, createFinishScript } from '../src/calls/dispatch/finish-calls.ts'
import { createHeldBodies } from '../src/calls/dispatch/held-bodies.ts'
import { createRedisRecovery, type Doubt } from '../src/calls/dispatch/redis-recovery.ts'
import { RunningCalls } from '../src/calls/dispatch/running-calls.ts'
import { SettlementOutbox } from '../src/calls/dispatch/settlement-outbox.ts'
import { createCallBodies } from '../src/calls/relay/call-bodies.ts'
import { listenForControl } from '../src/calls/relay/control-listener.ts'
import { FramePublisher } from '../src/calls/relay/frame-publisher.ts'
import { createReplyArchive } from '../src/calls/relay/reply-archive.ts'
import { watchOverlay } from '../src/catalog/catalog-overlay.ts'
import { createCatalogStore } from '../src/catalog/catalog-store.ts'
import { openProviderKeyVault } from '../src/catalog/provider-key-vault.ts'
import type { Config } from '../src/config.ts'
import { newId } from '../src/core/kernel/ids.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { createProcessReport } from '../src/platform/observability/process-report.ts'
import { createPostgres } from '../src/platform/postgres/postgres.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'
import { createCallJobs } from '../src/platform/queues/call-jobs.ts'
import {
  createDispatchQueue,
  createSettlementQueue,
  enqueueSettlements,
  settlementJobsLeft,
} from '../src/platform/queues/queues.ts'
import { startFleetClock } from '../src/platform/redis/fleet-clock.ts'
import { checkRedisSettings, createRedis } from '../src/platform/redis/redis.ts'
import { createEpochReader, watchEpoch } from '../src/platform/redis/redis-epoch.ts'
import { createSealer } from '../src/platform/sealing.ts'
import { warmTokenizer } from '../src/providers/count-tokens.ts'
import { createTransport } from '../src/providers/http/transport.ts'
import { createProviderRegistry } from '../src/providers/registry.ts'
import { createBreakerBoard } from '../src/routing/breaker-board.ts'
import { exportBreakers } from '../src/routing/breaker-metrics.ts'
import { createMeasureLog } from '../src/routing/measure-log.ts'
import { createRetryBudget } from '../src/routing/retry-budget.ts'
import { openDispatchJobs } from './dispatch-jobs.ts'
import { DispatchWorker } from './dispatch-worker.ts'

/** How often settlements are confirmed. */
const CONFIRM_MS = 1_000

/** A call waits for its key, so PostgreSQL is not waited for long. */
const KEYS_POSTGRES = {
  name: 'switchyard-dispatch-keys',
  poolSize: 2,
  connectTimeoutMs: 1_500,
  statementTimeoutMs: 1_500,
}

/** The dispatch process, composed: claims calls, runs the failover chain, publishes frames. */
export async function startDispatchRole(
  config: Readonly<Config>,
  plainLogger: Logger,
  registry: Registry = new Registry(),
): Promise<{ stop(): Promise<void> }> {
  const report = createProcessReport('dispatch', plainLogger, registry)
  const { logger } = report
  const redisFor = (name: string) =>
    createRedis({ url: config.redisUrl, name: `switchyard-dispatch-${name}`, mode: 'wait', logger })
  const redis = redisFor('frames')
  const queueRedis = redisFor('queue')
  const subscriber = redisFor('control')
  await checkRedisSettings(redis, logger)
  const fleetClock = await startFleetClock({ redis, logger })

  const overlay = await watchOverlay({ redis, subscriber, logger })
  const catalog = await createCatalogStore({ ...config, environment: process.env, overlay, logger })
  const calls = new RunningCalls()
  const workerId = newId('worker')
  const publisher = new FramePublisher({
    worker: workerId,
    redis,
    logger,
    onLost: (frames) => calls.noteLost(frames),
    onUnheard: (channel, heardAt) => calls.abortChannel(channel, heardAt),
    openChannels: () => calls.channels(),
    onRound: () => calls.markSent(Date.now()),
    clock: Date.now,
  })
  const transport = createTransport(config)
  // Connects when the first call on a client's own key comes.
  const keysPostgres = createPostgres({ ...KEYS_POSTGRES, databaseUrl: config.databaseUrl, logger })
  const ownKeys = await openProviderKeyVault({
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
  const gate = createHoldStore(redis)
  let restate = (_doubt: Doubt): unknown => undefined
  const epoch = await watchEpoch({
    redis,
    readEpoch: createEpochReader(redis),
    logger,
    onEmptied: () => void restate('emptied'),
    onReconnected: () => void restate('reconnected'),
  })
  const outbox = new SettlementOutbox({
    enqueue: (records) => enqueueSettlements(settlementQueue, records),
    jobsLeft: (jobIds) => settlementJobsLeft(redis, jobIds),
    stretch: epoch.stretch,
    logger,
    max: config.unconfirmedSettlementsMax,
  })
  const tally = createCallTally(registry, report)
  const finish = createFinisher({
    // Over the connection of the publisher: what was sent before arrives before the last frames.
    run: createFinishScript(redis, workerId, Date.now),
    flush: () => publisher.flush(),
    outbox,
  })
  const bodies = createCallBodies({
    ...config,
    name: 'switchyard-dispatch-bodies',
    sealer: createSealer(config.masterKeys, 'call-body'),
    logger,
  })
  const worker = new DispatchWorker({
    jobs: openDispatchJobs({
      redis: queueRedis,
      blocking: redisFor('wake'),
      lockMs: config.jobLockMs,
      logger,
      clock: Date.now,
    }),
    dispatchQueue,
    callJobs: createCallJobs(redis),
    epoch,
    concurrency: config.workerConcurrency,
    lockMs: config.jobLockMs,
    graceMs: config.shutdownGraceMs,
    calls,
    publisher,
    chain: createAttemptChain({
      catalog: catalog.snapshot,
      providers: createProviderRegistry({
        transport,
        environment: process.env,
        connectTimeoutMs: config.connectTimeoutMs,
        now: Date.now,
      }),
      ownKeys,
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
    archive: createReplyArchive(redis, createSealer(config.masterKeys, 'kept-reply'), config.keptReplies),
    wholeAnswerBytesMax: config.keptReplies.perAnswer,
    gate,
    keepUnsent(call) {
      tally(call.record)
      outbox.keepUnsent(call)
    },
    async finish(call) {
      const result = await finish(call)
      if (result === 'finished') tally(call.record)
      return result
    },
    logger,
    clock: Date.now,
    fleetClock: fleetClock.now,
  })
  const recovery = createRedisRecovery({ claims: worker.claims, outbox, gate, logger })
  restate = recovery.restate
  const stopConfirming = pollEvery(CONFIRM_MS, recovery.confirm, () => undefined)
  await listenForControl(subscriber, workerId, (message) => calls.control(message))
  await warmTokenizer()
  await worker.start()
  report.start(redis, () => ({ inFlightCalls: calls.size, concurrency: config.workerConcurrency }))

  return {
    async stop() {
      await worker.stop()
      await report.stop()
      stopConfirming()
      epoch.stop()
      fleetClock.stop()
      publisher.stop()
      await Promise.all([ownKeys.stop(), board.close(), measures.close(), budget.close(), transport.close()])
      await Promise.all([dispatchQueue.close(), settlementQueue.close()])
      catalog.close()
      overlay.stop()
      // QUIT, not disconnect: the last frames are still on their way.
      await redis.quit()
      queueRedis.disconnect()
      subscriber.disconnect()
      await Promise.all([keysPostgres.$disconnect(), bodies.close()])
    },
  }
}

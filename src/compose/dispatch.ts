import type { Registry } from 'prom-client'
import { createHoldStore } from '../billing/holds/hold-store.ts'
import { openByokKeyVault } from '../byok/byok-key-vault.ts'
import type { FindLocalHub, LocalHub, TakeSlotOfShard } from '../calls/in-process-link.ts'
import { createHeldBodies } from '../calls/protocol/call-bodies.ts'
import { createAttemptChain } from '../calls/worker/attempts/attempt-chain.ts'
import { createAttemptMeter } from '../calls/worker/attempts/attempt-meter.ts'
import { createCallMetrics } from '../calls/worker/call-metrics.ts'
import { DispatchWorker, type DispatchWorkerOptions } from '../calls/worker/dispatch-worker.ts'
import { createFinisher, createFinishScript, type RunFinish } from '../calls/worker/finish-calls.ts'
import { FramePublisher } from '../calls/worker/frame-publisher.ts'
import { listenForControl } from '../calls/worker/listen-for-control.ts'
import { createRedisResync } from '../calls/worker/redis-resync.ts'
import { KEPT_OUTBOX_BYTES, RunningCalls } from '../calls/worker/running-calls.ts'
import { createLedgerLossCheck, createSettledCalls } from '../calls/worker/settled-calls.ts'
import { SettlementOutbox } from '../calls/worker/settlement-outbox.ts'
import { createSlotPool } from '../calls/worker/worker-slots.ts'
import type { Config } from '../config.ts'
import type { CallJob, SettlementRecord } from '../core/calls/call-job.ts'
import { newId } from '../core/kernel/ids.ts'
import { createBreakerBoard, exportBreakers } from '../offer-health/circuit-breaker/breaker-board.ts'
import { createMeasureLog } from '../offer-health/offer-measures.ts'
import { createRetryBudget } from '../offer-health/retry-budget.ts'
import { openBodyStore } from '../platform/body-store/create-body-store.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { pollEvery } from '../platform/process/poll-every.ts'
import { openClaimedJobs } from '../platform/queues/claimed-jobs.ts'
import { DISPATCH_QUEUE, enqueueSettlements, settlementJobsLeft } from '../platform/queues/queues.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { shardNumbers } from '../platform/redis/redis-keys.ts'
import { createSign } from '../providers/credentials/create-sign.ts'
import { createProviderClients, createTransport } from '../providers/provider-clients.ts'
import { WIRE_MAPPINGS } from '../providers/wires.ts'
import { composeCallTexts, watchShard } from './call-path.ts'
import { composeCatalog } from './catalog.ts'
import { composeClients, openQueues } from './clients.ts'

/** A call waits for its key, so the timeouts are short. */
const KEYS_POSTGRES = { poolSize: 2, connectTimeoutMs: 1_500, statementTimeoutMs: 1_500 }

/** How often an idle worker checks for calls; a call that arrives ends the wait. */
const WAIT_SECONDS = 5

/** Composes the dispatch process: it claims calls, runs the failover chain, publishes frames. */
export async function startDispatchRole(
  config: Readonly<Config>,
  plainLogger: Logger,
  registry?: Registry,
  localHub?: FindLocalHub,
): Promise<{ takeSlot: TakeSlotOfShard; stop(): Promise<void> }> {
  const clients = await composeClients('dispatch', config, plainLogger, registry)
  const { redis, report, logger, resources } = clients
  const redisFor = (name: string, shard?: number) =>
    clients.connections.redis(`shuntyard-dispatch-${name}`, 'wait', shard)
  const subscriber = clients.connections.redis('shuntyard-dispatch-control', 'follow')
  const queueRedis = redisFor('queue')
  // QUIT, not disconnect: the last frames are still in flight.
  resources.defer(async () => {
    await Promise.all(redis.openedClients().map((client) => client.quit()))
  })
  const { platformKeys, catalog } = await composeCatalog(config, clients, subscriber)
  const transport = createTransport(config)
  resources.defer(() => transport.close())
  // Connects with the first call on a BYOK key.
  const postgres = clients.connections.postgres('shuntyard-dispatch-keys', KEYS_POSTGRES)
  const byokKeys = await openByokKeyVault({
    postgres,
    ...{ redis, subscriber, logger, masterKeys: config.masterKeys, clock: Date.now },
    refreshMs: config.keyReloadMs,
  })
  resources.defer(() => byokKeys.stop())
  const board = await createBreakerBoard({ redis, subscriber, settings: config, now: Date.now, logger })
  resources.defer(() => board.close())
  exportBreakers(board, clients.registry)
  const measures = createMeasureLog({ redis, now: Date.now, logger })
  resources.defer(() => measures.close())
  const limits = { percent: config.retryBudgetPercent, floor: config.retryBudgetFloor }
  const budget = createRetryBudget({ redis, limits, now: Date.now, logger })
  resources.defer(() => budget.close())
  const queues = openQueues(redis, resources)
  const { bodies, archive, responseCache } = composeCallTexts('dispatch', config, clients)
  const heldBodies = createHeldBodies(bodies, config)
  const files = await openBodyStore(config)
  resources.defer(() => files.close())
  const chain = createAttemptChain({
    catalog: catalog.snapshot,
    providers: createProviderClients({
      wires: WIRE_MAPPINGS,
      sign: createSign(Date.now),
      ...{ transport, files, connectTimeoutMs: config.connectTimeoutMs, now: Date.now },
      ourKey: (provider) => platformKeys.find(provider)?.secret ?? null,
      ourSecrets: (provider) => platformKeys.all(provider).map(({ secret }) => secret),
    }),
    meter: createAttemptMeter(measures, clients.registry),
    keys: { board: board.keys, platformKeys },
    ...{ byokKeys, board, budget, settings: config, logger, now: clients.fleetClock, random: Math.random },
  })
  const served = servedShards(config)
  const pool = createSlotPool(config.workerConcurrency)
  const countCall = createCallMetrics(clients.registry, report)
  const startWorker = async (shard: number) => {
    const jobs = openClaimedJobs<CallJob>(DISPATCH_QUEUE, {
      redis: queueRedis,
      // A wait blocks its connection.
      blocking: redisFor('wake', shard),
      lockMs: config.jobLockMs,
      waitSeconds: WAIT_SECONDS,
      token: newId('worker'),
      ...{ shard, logger, clock: Date.now },
    })
    const { dispatch: dispatchQueue, settlement, callJobs } = queues.calls[shard]!
    const calls = new RunningCalls(Math.floor(KEPT_OUTBOX_BYTES / served.length))
    const worker = await composeDispatch({
      ...{ shard, jobs, calls, callJobs, dispatchQueue, archive, responseCache, chain, countCall, logger },
      redis: redis.shard(shard),
      subscriber: subscriber.shard(shard),
      localHub: localHub && (() => localHub(shard)),
      epoch: await watchShard(shard, clients),
      enqueueSettlements: (records) => enqueueSettlements(settlement, records),
      settlementJobsLeft: (jobIds) => settlementJobsLeft(redis, jobIds, shard),
      runFinish: createFinishScript(redis, jobs.token, Date.now, shard),
      catalog: catalog.snapshot,
      bodies: heldBodies,
      concurrency: config.workerConcurrency,
      pool,
      lockMs: config.jobLockMs,
      graceMs: config.shutdownGraceMs,
      unconfirmedSettlementsMax: Math.ceil(config.unconfirmedSettlementsMax / served.length),
      wholeCompletionBytesMax: config.keptReplyBytesMax,
      clock: Date.now,
      fleetClock: clients.fleetClock,
    })
    return { ...worker, shard, calls }
  }
  const workers = await Promise.all(served.map(startWorker))
  const stopCheckingLedger = pollEvery(
    CONFIRM_MS,
    async () => void (await Promise.all(workers.map((worker) => worker.checkLedger()))),
    (error) => logger.warn({ err: error }, 'ledger loss check failed'),
    { firstAfterMs: 0 },
  )
  const inFlight = () => workers.reduce((count, { calls }) => count + calls.size, 0)
  report.start(redis, () => ({ inFlightCalls: inFlight(), concurrency: config.workerConcurrency }))
  resources.defer(() => report.stop())
  resources.defer(() => stopCheckingLedger())
  resources.defer(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))
  const takers = new Map(workers.map(({ shard, takeSlot }) => [shard, takeSlot]))
  return { takeSlot: (shard) => takers.get(shard)?.() ?? null, stop: () => resources.disposeAsync() }
}

/** The shards whose calls a worker runs. */
const servedShards = ({ workerShards, redisShards }: Readonly<Config>): number[] =>
  workerShards.length > 0 ? [...new Set(workerShards.map(Number))] : shardNumbers({ shards: redisShards })

/** The clients and settings of the worker of one shard. */
interface DispatchParts extends Omit<DispatchWorkerOptions, 'publisher' | 'holds' | 'outbox' | 'finish'> {
  shard: number
  /** Frames, holds and queues use one connection, so that commands run in sending order. */
  redis: Redis
  /** A connection in subscriber mode. */
  subscriber: Redis
  /** The hub of the API instance in this process, while one runs. */
  localHub?: (() => LocalHub | null) | undefined
  enqueueSettlements: (records: SettlementRecord[]) => Promise<string>
  settlementJobsLeft: (jobIds: string[]) => Promise<boolean[]>
  runFinish: RunFinish
  unconfirmedSettlementsMax: number
}

/** How often settlements are confirmed. */
const CONFIRM_MS = 1_000

/** A running dispatch worker. */
export type ComposedDispatch = Awaited<ReturnType<typeof composeDispatch>>

/** Composes and starts the worker of one shard: everything between the queue and the providers. */
export async function composeDispatch(parts: DispatchParts) {
  const { redis, subscriber, localHub, epoch, calls, logger, clock, unconfirmedSettlementsMax: max } = parts
  const holds = createHoldStore(redis)
  const publisher = new FramePublisher({
    worker: parts.jobs.token,
    redis,
    localHub,
    logger,
    onLost: (frames) => calls.noteLost(frames),
    onUnacknowledged: (channel, subscribedAt) => calls.abortChannel(channel, subscribedAt),
    openChannels: () => calls.channels(),
    onRound: () => calls.markSent(clock()),
    clock,
  })
  const settled = createSettledCalls({ max, clock })
  const outbox = new SettlementOutbox({
    onSettled: settled.add,
    enqueue: parts.enqueueSettlements,
    jobsLeft: parts.settlementJobsLeft,
    durabilityToken: epoch.durabilityToken,
    ...{ logger, max },
  })
  const worker = new DispatchWorker({
    ...{ ...parts, publisher, holds, outbox },
    finish: createFinisher({ run: parts.runFinish, publisher, outbox }),
  })
  const { resync, confirm } = createRedisResync({ leases: worker.leases, outbox, holds, logger })
  epoch.onEmptied(() => void resync('emptied'))
  epoch.onReconnected(() => void resync('reconnected'))
  const stopConfirming = pollEvery(CONFIRM_MS, confirm, () => undefined)
  await listenForControl(subscriber, parts.jobs.token, (message) => calls.control(message), parts.shard)
  await worker.start()
  return {
    takeSlot: () => worker.takeSlot(),
    running: () => worker.leases.running(),
    /** The holds of ended calls whose settlement is not confirmed. */
    unsettled: () => outbox.holds(),
    /** Settles again what PostgreSQL has lost; call it about once a second. */
    checkLedger: createLedgerLossCheck({
      ...{ redis: redis.shard(0), settled, outbox, logger },
      resync: () => resync('reconnected'),
    }),
    async stop() {
      await worker.stop()
      stopConfirming()
      publisher.stop()
    },
  }
}

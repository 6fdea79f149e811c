import { pino } from 'pino'
import { Registry } from 'prom-client'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import type { BalanceStore } from '../../src/billing/ledger/balance-store.ts'
import { createBillingMetrics } from '../../src/billing/reports/billing-metrics.ts'
import type { SettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import type { AdmissionDependencies } from '../../src/calls/admission/admit-call.ts'
import type { DispatchDependencies } from '../../src/calls/admission/dispatch-call.ts'
import { createErrands } from '../../src/calls/admission/errands.ts'
import { createFigureLoaders } from '../../src/calls/admission/load-figures.ts'
import { createAttemptChain } from '../../src/calls/attempts/attempt-chain.ts'
import { createFinisher, type RunFinish } from '../../src/calls/dispatch/finish-calls.ts'
import { createRedisRecovery, type Doubt } from '../../src/calls/dispatch/redis-recovery.ts'
import { RunningCalls } from '../../src/calls/dispatch/running-calls.ts'
import { SettlementOutbox } from '../../src/calls/dispatch/settlement-outbox.ts'
import { listenForControl } from '../../src/calls/relay/control-listener.ts'
import { FramePublisher } from '../../src/calls/relay/frame-publisher.ts'
import type { ReplyArchive } from '../../src/calls/relay/reply-archive.ts'
import { ReplyHub } from '../../src/calls/relay/reply-hub.ts'
import type { CallJob } from '../../src/core/calls/call-job.ts'
import { encodeFrames, type Frame } from '../../src/core/calls/frames.ts'
import type { CatalogSnapshot } from '../../src/core/catalog/catalog.ts'
import { buildCatalogSnapshot } from '../../src/core/catalog/catalog-snapshot.ts'
import type { Postgres } from '../../src/platform/postgres/postgres.ts'
import { pollEvery } from '../../src/platform/process/poll-every.ts'
import type { CallJobs } from '../../src/platform/queues/call-jobs.ts'
import { enqueueSettlements, type SettlementJob } from '../../src/platform/queues/queues.ts'
import { createEpochReader, untilRestated, watchEpoch } from '../../src/platform/redis/redis-epoch.ts'
import { DispatchWorker } from '../../workers/dispatch-worker.ts'
import { runMaintenance } from '../../workers/maintenance-scheduler.ts'
import { startSettlementWorker } from '../../workers/settlement-worker.ts'
import { finishCalls } from './model-finish.ts'
import { ModelPostgres } from './model-postgres.ts'
import { ModelQueue } from './model-queue.ts'
import { ModelRedis } from './model-redis.ts'
import type { SeededRandom } from './seeded-random.ts'
import {
  connectRedis,
  openBatches,
  openCallJobs,
  openDispatchJobs,
  openQueue,
  PubSub,
  type RedisServices,
} from './simulated-clients.ts'
import { createSimulatedProvider } from './simulated-provider.ts'
import { type Connection, type ConnectionMode, SimulatedServer } from './simulated-server.ts'
import { SimulatedProcess, type SimulatedTime } from './simulated-time.ts'

/** Bugs to inject, to see that the simulation finds them. */
export type Bug =
  /** The hold is released before the charge is committed. */
  | 'release-before-commit'
  /** The client sees the end before the settlement is enqueued. */
  | 'settle-after-end'
  /** Balances are loaded as soon as Redis was emptied. */
  | 'no-grace'
  /** Workers do not restate what they know. */
  | 'no-restatement'
  /** A call that was settled is charged again. */
  | 'charge-twice'
  /** A call that ends keeps its whole hold until it is settled. */
  | 'hold-until-settled'
  /** Calls are taken off the queue by BullMQ's `remove`, whose 1 is read as: no worker had it. */
  | 'withdraw-by-remove'
  /** A call that the gateway gave up is charged as if its client had left. */
  | 'charge-failed'

export const LIMITS = {
  requestsPerMinute: 1_000_000,
  tokensPerMinute: 1_000_000_000,
  concurrentCalls: 1_000,
  accountRequestsPerMinute: 1_000_000,
  accountConcurrentCalls: 1_000,
  defaultCompletionLimit: 40,
  byokFeePercent: 5,
  attemptsPerCall: 3,
  queueWaitMs: 2_000,
  accountQueueShare: 2,
  bodyBytesPerKey: 1_000_000,
  bodyBytesPerAccount: 1_000_000,
  callTimeoutMs: 6_000,
  nonStreamingCallTimeoutMs: 6_000,
}
export const LOCK_MS = 1_000
const GRACE_MS = 1_500
const SETTLEMENTS_KEPT = 1_000

const LOGGER = pino({ level: process.env.SIMULATION_LOG ?? 'silent' })
const METRICS = createBillingMetrics(new Registry())
const NO_ARCHIVE: ReplyArchive = {
  end: async () => undefined,
  read: async () => null,
  forget: async () => undefined,
}
const BODIES_IN_JOBS = {
  put: async (_: string, body: string) => body,
  read: async (_: string, body: string | null) => body,
  drop: async () => undefined,
  release: () => undefined,
}

const CATALOG = buildCatalog()

export interface Api {
  process: SimulatedProcess
  admission: AdmissionDependencies
  dispatch: DispatchDependencies
}

export interface Worker {
  process: SimulatedProcess
  /** Whether this worker has the call, or could enqueue its settlement again. */
  knows: (callId: string) => boolean
}

/** The gateway's processes as they are composed in production, over models of the services they share. */
export class Gateway {
  readonly redis: RedisServices
  readonly postgresServer: SimulatedServer
  readonly books = new ModelPostgres()
  readonly dispatchQueue: ModelQueue<CallJob>
  readonly settlementQueue: ModelQueue<SettlementJob>
  private readonly time: SimulatedTime
  private readonly random: SeededRandom
  private readonly bug: Bug | null
  private started = 0

  constructor(time: SimulatedTime, random: SeededRandom, bug: Bug | null) {
    this.time = time
    this.random = random
    this.bug = bug
    const server = new SimulatedServer('redis', time, random)
    this.redis = { server, data: new ModelRedis(() => time.nowMs), pubSub: new PubSub(server) }
    this.postgresServer = new SimulatedServer('postgres', time, random)
    this.dispatchQueue = new ModelQueue(() => time.nowMs, random)
    this.settlementQueue = new ModelQueue(() => time.nowMs, random)
  }

  /** Everything Redis knew is gone. */
  emptyRedis(): void {
    this.redis.data.flush()
    this.dispatchQueue.flush()
    this.settlementQueue.flush()
  }

  /** As src/runtime.ts composes it. */
  async startApi(): Promise<Api> {
    const process = this.newProcess('api')
    const clock = () => this.time.nowMs
    const redis = connectRedis(this.redis, this.connect(process, 'fail-fast'))
    const queues = this.connect(process, 'fail-fast')
    const subscriber = connectRedis(this.redis, this.connect(process, 'wait'))
    const postgres = this.postgresServer.connect(process, 'fail-fast')
    const hub = new ReplyHub({ apiId: process.name, subscriber, publisher: redis, logger: LOGGER, clock })
    const gate = createHoldStore(redis)
    const readEpoch = createEpochReader(redis)
    const graceMs = this.bug === 'no-grace' ? 0 : GRACE_MS
    const accounts = {
      find: (id: string) => postgres.send(() => ({ id, ...this.books.balance(id)! })),
    }
    const errands = createErrands(LOGGER)
    const loaders = createFigureLoaders(accounts as never, {} as never, gate, {
      restated: () => untilRestated(readEpoch, graceMs),
      charges: (callIds) =>
        postgres.send(() => {
          const settled = callIds.filter((id) => this.books.calls.has(id))
          return new Map(settled.map((id) => [id, BigInt(this.books.calls.get(id)!.chargePico)] as const))
        }),
    })
    let epoch: () => string = () => 'none'
    await this.time.runAs(process, () => {
      void hub.start()
      const onEmptied = () => void setTimeout(() => hub.lookAfterAll(), graceMs)
      watchEpoch({ redis, readEpoch, logger: LOGGER, onEmptied }).then(
        (watch) => {
          epoch = watch.current
        },
        () => undefined,
      )
    })
    return {
      process,
      admission: {
        catalog: () => CATALOG,
        gate: gate.admit,
        ...loaders,
        noteLimitReached: () => undefined,
        errands,
        limits: LIMITS,
        replyChannel: hub.channel,
        epoch: () => epoch(),
        topUpUrl: 'http://localhost',
        clock,
        random: this.random.unit,
      },
      dispatch: {
        hub,
        dispatchQueue: openQueue(this.dispatchQueue, queues).dispatch,
        callJobs: this.callJobs(queues),
        settlementQueue: openQueue(this.settlementQueue, queues).settlement,
        gate,
        bodies: BODIES_IN_JOBS,
        archive: NO_ARCHIVE,
        errands,
        logger: LOGGER,
        clock,
      },
    }
  }

  /** As workers/dispatch-role.ts composes it. */
  async startDispatch(): Promise<Worker> {
    const process = this.newProcess('dispatch')
    // One connection, as in production: what is sent first is done first.
    const connection = this.connect(process, 'wait')
    const redis = connectRedis(this.redis, connection)
    const calls = new RunningCalls()
    const gate = createHoldStore(redis)
    const { dispatch: dispatchQueue } = openQueue(this.dispatchQueue, connection)
    const { settlement } = openQueue(this.settlementQueue, connection)
    let restate = (_doubt: Doubt): unknown => undefined
    let stretch = async () => 'unknown'
    const outbox = new SettlementOutbox({
      enqueue: (records) => enqueueSettlements(settlement, records),
      jobsLeft: async (jobIds) => {
        const states = await Promise.all(jobIds.map((jobId) => settlement.getJobState(jobId)))
        return states.map((state) => state !== 'unknown')
      },
      stretch: () => stretch(),
      logger: LOGGER,
      max: SETTLEMENTS_KEPT,
    })
    let claims: DispatchWorker['claims'] | undefined
    const start = async () => {
      const epoch = await watchEpoch({
        redis,
        readEpoch: createEpochReader(redis),
        logger: LOGGER,
        onEmptied: () => void restate('emptied'),
        onReconnected: () => void restate('reconnected'),
      })
      stretch = epoch.stretch
      const publisher = new FramePublisher({
        worker: process.name,
        redis,
        logger: LOGGER,
        onLost: (frames) => calls.noteLost(frames),
        onUnheard: (channel, heardAt) => calls.abortChannel(channel, heardAt),
        openChannels: () => calls.channels(),
        onRound: () => calls.markSent(this.time.nowMs),
        clock: () => this.time.nowMs,
      })
      const worker = new DispatchWorker({
        jobs: openDispatchJobs(this.dispatchQueue, this.redis, process, LOCK_MS),
        dispatchQueue,
        callJobs: this.callJobs(connection),
        epoch,
        concurrency: 8,
        lockMs: LOCK_MS,
        graceMs: 1_000,
        calls,
        publisher,
        chain: this.chain(),
        catalog: () => CATALOG,
        bodies: BODIES_IN_JOBS,
        gate,
        archive: NO_ARCHIVE,
        wholeAnswerBytesMax: 0,
        keepUnsent: (call) => outbox.keepUnsent(call),
        finish: createFinisher({
          run: this.runFinish(connection, process.name),
          flush: () => publisher.flush(),
          outbox,
        }),
        logger: LOGGER,
        clock: () => this.time.nowMs,
      })
      claims = worker.claims
      if (this.bug !== 'no-restatement') {
        const recovery = createRedisRecovery({ claims: worker.claims, outbox, gate, logger: LOGGER })
        restate = recovery.restate
        pollEvery(1_000, recovery.confirm, () => undefined)
      }
      await listenForControl(
        connectRedis(this.redis, this.connect(process, 'wait')),
        process.name,
        (message) =>
          calls.control(
            this.bug === 'charge-failed' && message.kind === 'cancel'
              ? { ...message, ending: { by: 'client' } }
              : message,
          ),
      )
      await worker.start()
    }
    await this.time.runAs(process, () => void start())
    const knows = (callId: string) =>
      [...outbox.holds()].some((hold) => hold.callId === callId) ||
      [...(claims?.running() ?? [])].some(({ envelope }) => envelope.id === callId)
    return { process, knows }
  }

  /** As workers/settlement-role.ts composes it, without maintenance, which runs when the simulation says so. */
  async startSettlement(): Promise<SimulatedProcess> {
    const process = this.newProcess('settlement')
    const redis = connectRedis(this.redis, this.connect(process, 'wait'))
    const gate = createHoldStore(redis)
    const store = this.store(process)
    await this.time.runAs(process, () => {
      startSettlementWorker({
        redis,
        batches: openBatches(this.settlementQueue, this.redis, process, LOCK_MS),
        store:
          this.bug === 'release-before-commit'
            ? {
                settle: async (records) => {
                  for (const { id, accountId } of records) {
                    const ledger = this.books.balance(accountId)!
                    await gate.apply(accountId, ledger, [{ callId: id, chargePico: 0n }])
                  }
                  return store.settle(records)
                },
              }
            : store,
        gate,
        logger: LOGGER,
        metrics: METRICS,
        settlementBatchMax: 50,
        jobLockMs: LOCK_MS,
      })
    })
    return process
  }

  /** Maintenance runs once, in a process of its own. */
  async maintain(): Promise<void> {
    const process = this.newProcess('maintenance')
    const connection = this.connect(process, 'wait')
    const redis = connectRedis(this.redis, connection)
    const postgres = this.postgresServer.connect(process, 'fail-fast')
    const balances: BalanceStore = {
      balances: (ids) =>
        postgres.send(() => new Map(ids.map((id) => [id, this.books.balance(id)!] as const))),
    }
    const known = (sql: string, ids: string[]) => {
      const table = sql.includes('quarantined') ? this.books.quarantined : this.books.calls
      const chargeOf = (id: string) => BigInt(this.books.calls.get(id)?.chargePico ?? '0')
      return ids.filter((id) => table.has(id)).map((id) => ({ id, chargePico: chargeOf(id) }))
    }
    await this.time.runAs(process, () => {
      runMaintenance({
        callJobs: this.callJobs(connection),
        settlementQueue: openQueue(this.settlementQueue, connection).settlement,
        settlements: this.store(process),
        postgres: {
          $queryRawUnsafe: (sql: string, ids: string[]) => postgres.send(() => known(sql, ids)),
        } as unknown as Postgres,
        gate: createHoldStore(redis),
        balances,
        metrics: METRICS,
        readEpoch: createEpochReader(redis),
        logger: LOGGER,
        clock: () => this.time.nowMs,
      }).catch(() => undefined)
    })
  }

  private store(process: SimulatedProcess): SettlementStore {
    const connection = this.postgresServer.connect(process, 'fail-fast')
    return {
      settle: (records) =>
        connection.send(() => {
          if (this.bug === 'charge-twice') for (const { id } of records) this.books.calls.delete(id)
          return this.books.settle(records)
        }),
    }
  }

  private runFinish(connection: Connection, worker: string): RunFinish {
    const { data, pubSub } = this.redis
    const models = {
      data: this.bug === 'hold-until-settled' ? new ModelRedis(() => this.time.nowMs) : data,
      isHeard: (channel: string) => pubSub.listeners(channel) > 0,
      publish: (channel: string, frames: readonly Frame[]) =>
        void pubSub.publish(channel, encodeFrames(worker, frames)),
      dispatch: this.dispatchQueue,
      settlement: this.settlementQueue,
    }
    const run: RunFinish = (jobId, calls) => connection.send(() => finishCalls(models, jobId, calls))
    if (this.bug !== 'settle-after-end') return run
    return async (jobId, calls) => {
      await connection.send(() => {
        for (const { channel, last } of calls) models.publish(channel, [last])
      })
      return run(jobId, calls)
    }
  }

  private callJobs(connection: Connection): CallJobs {
    const jobs = openCallJobs(this.dispatchQueue, connection)
    if (this.bug !== 'withdraw-by-remove') return jobs
    const withdraw = (callId: string) =>
      connection.send(() => (this.dispatchQueue.remove(callId) === 1 ? 'withdrawn' : 'claimed'))
    return { ...jobs, withdraw }
  }

  private chain() {
    const provider = createSimulatedProvider(this.random)
    return createAttemptChain({
      catalog: () => CATALOG,
      providers: () => provider,
      board: {
        health: () => ({ kind: 'ready' }),
        claimProbe: async () => null,
        probeAnswers: () => undefined,
        report: () => undefined,
        exclude: () => undefined,
        state: () => [],
        close: async () => undefined,
      },
      budget: { countCall: () => undefined, ask: async () => true, close: async () => undefined },
      settings: {
        attemptsPerCall: LIMITS.attemptsPerCall,
        firstTokenTimeoutMs: 800,
        lastFirstTokenTimeoutMs: 1_200,
        reasoningFirstTokenTimeoutMs: 1_200,
        reasoningLastFirstTokenTimeoutMs: 1_200,
        idleTimeoutMs: 700,
        dripTokensMin: 10,
      },
      logger: LOGGER,
      now: () => this.time.nowMs,
      random: this.random.unit,
    })
  }

  private connect(process: SimulatedProcess, mode: ConnectionMode): Connection {
    return this.redis.server.connect(process, mode)
  }

  private newProcess(role: string): SimulatedProcess {
    this.started += 1
    return new SimulatedProcess(`${role}-${this.started}`)
  }
}

function buildCatalog(): CatalogSnapshot {
  const provider = (id: string) => ({ id, base_url: `http://${id}.test/v1` })
  const result = buildCatalogSnapshot(
    [
      {
        name: 'simulation',
        updatedAt: 0,
        content: {
          replace: true,
          providers: [provider('alpha'), provider('beta')],
          models: [
            {
              id: 'sim/model',
              vendor: 'sim',
              context_length: 10_000,
              max_output_tokens: 1_000,
              list_price: { prompt: '1.20', completion: '2.30' },
              offers: [
                { provider: 'alpha', upstream_model: 'm', assistant_prefill: true },
                { provider: 'beta', upstream_model: 'm' },
              ],
            },
          ],
        },
      },
    ],
    { discountPercent: 5, openWeightsDiscountPercent: 20, generatedAt: 0, isUsable: () => true },
  )
  if (result.kind !== 'snapshot') throw new Error(result.problems.join('; '))
  return result.snapshot
}

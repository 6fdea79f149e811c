import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Account } from '../../src/accounts/account-store.ts'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import type { BalanceStore } from '../../src/billing/ledger/balance-store.ts'
import { createBillingMetrics } from '../../src/billing/reports/billing-metrics.ts'
import { createMaintenance } from '../../src/billing/run-maintenance.ts'
import type { SettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { createCleanupTasks } from '../../src/calls/cleanup-tasks.ts'
import type { FindLocalHub, LocalHub, TakeSlotOfShard } from '../../src/calls/in-process-link.ts'
import type { CompletionArchive } from '../../src/calls/protocol/idempotency.ts'
import { type AttemptChain, createAttemptChain } from '../../src/calls/worker/attempts/attempt-chain.ts'
import type { RunFinish } from '../../src/calls/worker/finish-calls.ts'
import { RunningCalls } from '../../src/calls/worker/running-calls.ts'
import { createSlotPool } from '../../src/calls/worker/worker-slots.ts'
import { type CallPath, type CallPathParts, connectCallPath } from '../../src/compose/call-path.ts'
import { type ComposedDispatch, composeDispatch } from '../../src/compose/dispatch.ts'
import type { CallJob } from '../../src/core/calls/call-job.ts'
import { NOTHING_USED } from '../../src/core/calls/call-outcome.ts'
import { type ControlMessage, encodeFrames, type Frame } from '../../src/core/calls/frames.ts'
import type { CatalogSnapshot } from '../../src/core/catalog/catalog.ts'
import { buildCatalogSnapshot } from '../../src/core/catalog/catalog-snapshot.ts'
import type { CallId } from '../../src/core/kernel/ids.ts'
import { UNKNOWN_OFFER_STATE } from '../../src/core/routing/offer-preferences.ts'
import type { Postgres } from '../../src/platform/postgres/postgres.ts'
import { type CallJobs, createFindQueuedCalls } from '../../src/platform/queues/call-jobs.ts'
import { enqueueSettlements, type SettlementJob } from '../../src/platform/queues/queues.ts'
import type { Redis } from '../../src/platform/redis/redis.ts'
import {
  createEpochReader,
  type EpochWatch,
  type ReadEpoch,
  watchEpoch,
} from '../../src/platform/redis/redis-epoch.ts'
import { accountKeys, allowanceKey, shardNumbers, shardOf } from '../../src/platform/redis/redis-keys.ts'
import { startSettlementWorker } from '../../workers/settlement-worker.ts'
import { UNMEASURED } from '../helpers/chain-parts.ts'
import { type FinishModels, finishCalls } from './model-finish.ts'
import { ModelPostgres } from './model-postgres.ts'
import { ModelQueue } from './model-queue.ts'
import { ModelRedis } from './model-redis.ts'
import { holdsOf } from './model-scripts.ts'
import type { SeededRandom } from './seeded-random.ts'
import {
  connectRedis,
  openCallJobs,
  openClaimedJobs,
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
  /** The same, where API instance and worker share a process. */
  | 'settle-after-end-colocated'
  /** Balances are loaded as soon as Redis was emptied. */
  | 'no-grace'
  /** Workers do not resync what they know. */
  | 'no-resync'
  /** A call that was settled is charged again. */
  | 'charge-twice'
  /** A call that ends keeps its whole hold until it is settled. */
  | 'hold-until-settled'
  /** A client that leaves before the first token pays nothing, whatever its provider had begun. */
  | 'free-hang-up'
  /** Calls are taken off the queue by BullMQ's `remove`, whose 1 is read as: no worker had it. */
  | 'withdraw-by-remove'
  /** A call that the gateway gave up is charged as if its client had left. */
  | 'charge-failed'
  /** Runs of a call are told apart by the numbers of their claims, and a claim that Redis forgot is lost. */
  | 'runs-by-number'
  /** That an API instance gave a call up is told to its worker by a message, and noted nowhere. */
  | 'told-by-message'
  /** Maintenance sweeps the holds of the first shard alone. */
  | 'sweeps-first-shard'
  /** It looks calls up in the queues of the first shard alone. */
  | 'looks-up-first-shard'

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
  flexWaitMs: 60_000,
  accountQueueShare: 2,
  bodyBytesPerKey: 1_000_000,
  bodyBytesPerAccount: 1_000_000,
  callTimeoutMs: 6_000,
  nonStreamingCallTimeoutMs: 6_000,
}
export const LOCK_MS = 1_000
const GRACE_MS = 1_500
const SLOTS = 8
const SETTLEMENTS_KEPT = 1_000

const LOGGER = pino({ level: process.env.SIMULATION_LOG ?? 'silent' })
const METRICS = createBillingMetrics(new Registry())
const NO_ARCHIVE: CompletionArchive = {
  end: async () => undefined,
  read: async () => null,
  forget: async () => undefined,
}
const BODIES_IN_JOBS = {
  seal: (_: string, body: string | Buffer) => body.toString(),
  put: async (_: string, body: string | Buffer) => Buffer.from(body.toString()),
  read: async (_: string, body: Buffer | string | null) => body?.toString() ?? null,
  drop: async () => undefined,
  release: () => undefined,
}

const CATALOG = buildCatalog()

export interface Api {
  process: SimulatedProcess
  /** The path of the calls of each shard. */
  paths: CallPath[]
  pathOf(accountId: string): CallPath
}

export interface Worker {
  process: SimulatedProcess
  /** Whether this worker has the call, or could enqueue its settlement again. */
  knows: (callId: string) => boolean
  takeSlot: TakeSlotOfShard
}

/** What the gateway is spread over, see Plan. */
export interface Spread {
  shards: number
  servers: number
  checksChannels: boolean
}

/** The queues of a shard. */
interface Queues {
  dispatch: ModelQueue<CallJob>
  settlement: ModelQueue<SettlementJob>
}

/** A server of Redis, and what the last step of each worker there that finished calls came to. */
interface RedisServer extends RedisServices {
  lastSteps: FinishModels['lastSteps']
}

/** The gateway's processes as they are composed in production, over models of the services they share. */
export class Gateway {
  readonly shards: number
  readonly redis: readonly RedisServer[]
  readonly postgresServer: SimulatedServer
  readonly ledger = new ModelPostgres()
  /** Of each shard. */
  readonly queues: readonly Queues[]
  private readonly time: SimulatedTime
  private readonly random: SeededRandom
  private readonly bug: Bug | null
  private readonly checksChannels: boolean
  private started = 0
  private attempts = 0

  constructor(
    time: SimulatedTime,
    random: SeededRandom,
    { shards, servers, checksChannels }: Spread,
    bug: Bug | null,
  ) {
    this.time = time
    this.checksChannels = checksChannels
    this.random = random
    this.shards = shards
    this.bug = bug
    const clock = () => time.nowMs
    const addCall = (...[callId, job, claim]: Parameters<ModelRedis['enqueueCall']>) =>
      this.queuesOf(job.envelope.accountId).dispatch.addCall(callId, job, claim)
    this.redis = Array.from({ length: servers }, (_, index) => {
      const server = new SimulatedServer(servers === 1 ? 'redis' : `redis ${index}`, time, random)
      const data = new ModelRedis(clock, addCall)
      return { server, data, pubSub: new PubSub(server), lastSteps: new Map() }
    })
    this.postgresServer = new SimulatedServer('postgres', time, random)
    this.queues = shardNumbers(this).map(() => ({
      dispatch: new ModelQueue(clock, random),
      settlement: new ModelQueue(clock, random),
    }))
  }

  /** The number of the server that has an account. */
  serverOf(accountId: string): number {
    return shardOf(accountId, this) % this.redis.length
  }

  /** What Redis knows of an account, and its record. */
  cacheOf(accountId: string) {
    const { data } = this.redis[this.serverOf(accountId)]!
    const record: ReadonlyMap<string, string> = data.hash(accountKeys(accountId, this).record)
    return { data, record, holds: holdsOf(record), avail: record.get('avail') ?? null }
  }

  /** The key of what is left of a budget. */
  allowanceKey(...[holder, period]: Parameters<typeof allowanceKey>): string {
    return allowanceKey(holder, period, this)
  }

  queuesOf(accountId: string): Queues {
    return this.queues[shardOf(accountId, this)]!
  }

  /** The queues that a server has. */
  queuesAt(server: number): Queues[] {
    return this.queues.filter((_, shard) => shard % this.redis.length === server)
  }

  /** Everything a Redis server knew is gone. */
  emptyRedis(server: number): void {
    const { data, lastSteps } = this.redis[server]!
    data.flush()
    lastSteps.clear()
    for (const { dispatch, settlement } of this.queuesAt(server)) {
      dispatch.flush()
      settlement.flush()
    }
  }

  /** Keeps what a Redis server knows by now; the returned function takes it back to that, once. */
  keepState(server: number): () => void {
    const { data, lastSteps } = this.redis[server]!
    const queues = this.queuesAt(server).flatMap(({ dispatch, settlement }) => [dispatch, settlement])
    const restores = [data, ...queues].map((model) => model.keepState())
    const steps = structuredClone(lastSteps)
    return () => {
      for (const restore of restores) restore()
      lastSteps.clear()
      for (const [worker, step] of steps) lastSteps.set(worker, step)
    }
  }

  /** API and dispatch in one process. */
  async startBoth(): Promise<{ api: Api; worker: Worker }> {
    const process = this.newProcess('both')
    let hubs: LocalHub[] = []
    const worker = await this.startDispatch(process, (shard) => hubs[shard] ?? null)
    const api = await this.startApi(process, worker.takeSlot)
    hubs = api.paths.map(({ hub }) => hub)
    return { worker, api }
  }

  async startApi(process = this.newProcess('api'), takeSlot?: TakeSlotOfShard): Promise<Api> {
    const clients = {
      redis: this.connectRedis(process, 'fail-fast'),
      queues: this.connect(process, 'fail-fast'),
      subscriber: this.connectRedis(process, 'wait'),
      postgres: this.postgresServer.connect(process, 'fail-fast'),
    }
    const paths: CallPath[] = []
    for (const shard of shardNumbers(this)) {
      const path = await this.connectPath(process, shard, clients, takeSlot && (() => takeSlot(shard)))
      paths.push(path)
    }
    return { process, paths, pathOf: (accountId) => paths[shardOf(accountId, this)]! }
  }

  /** The path of the calls of a shard in an API process. */
  private async connectPath(
    process: SimulatedProcess,
    shard: number,
    clients: { redis: Redis; queues: Connection[]; subscriber: Redis; postgres: Connection },
    takeSlot: CallPathParts['takeSlot'],
  ): Promise<CallPath> {
    const { redis, subscriber, postgres } = clients
    const queues = this.connectionTo(shard, clients.queues)
    const { dispatch: dispatchQueue, settlement: settlementQueue } = this.queues[shard]!
    const readEpoch = createEpochReader(redis, shard)
    const epoch = await this.watchedEpoch(process, redis.shard(shard), readEpoch)
    const path = connectCallPath({
      apiId: `${process.name}-api`,
      shard,
      places: { add: () => undefined },
      offerStates: () => () => UNKNOWN_OFFER_STATE,
      takeSlot,
      holds: createHoldStore(redis),
      redis,
      subscriber,
      epoch,
      readEpoch,
      recoveryGraceMs: this.bug === 'no-grace' ? 0 : GRACE_MS,
      accounts: {
        find: (id) => postgres.send(() => ({ id, ...this.ledger.balance(id)! }) as Account),
      },
      spend: {
        // Each account has one key, so every budget of it bounds the same calls.
        holdsOf: async () => (hold) => hold.keyId !== '',
        spending: ({ accountId }, _period, callIds) =>
          postgres.send(() => this.ledger.spending(accountId, callIds)),
      },
      groupLimit: async () => 0n,
      charges: (callIds) =>
        postgres.send(() => {
          const settled = callIds.filter((id) => this.ledger.calls.has(id))
          return new Map(settled.map((id) => [id, BigInt(this.ledger.calls.get(id)!.chargePico)] as const))
        }),
      catalog: () => CATALOG,
      noteLimitReached: () => undefined,
      cleanup: createCleanupTasks(LOGGER, epoch),
      dispatchQueue: openQueue(dispatchQueue, queues).dispatch,
      callJobs: this.callJobs(shard, queues),
      settlementQueue: openQueue(settlementQueue, queues).settlement,
      bodies: BODIES_IN_JOBS,
      archive: NO_ARCHIVE,
      limits: LIMITS,
      topUpUrl: 'http://localhost',
      logger: LOGGER,
      clock: () => this.time.nowMs,
      random: this.random.unit,
    })
    if (!this.checksChannels) (path.hub as unknown as { check: { stop(): void } }).check.stop()
    await this.time.runAs(process, () => void path.hub.start())
    return path
  }

  async startDispatch(process = this.newProcess('dispatch'), localHub?: FindLocalHub): Promise<Worker> {
    // One connection to each server, as in production: what is sent first is done first.
    const connections = this.connect(process, 'wait')
    const redis = connectRedis(this.redis, connections, this.shards)
    const pool = createSlotPool(SLOTS)
    const started: ComposedDispatch[] = []
    const running = shardNumbers(this).map(() => this.runningCalls())
    const start = async (shard: number) => {
      const calls = running[shard]!
      const queues = this.queues[shard]!
      const connection = this.connectionTo(shard, connections)
      const { settlement } = openQueue(queues.settlement, connection)
      const token = this.tokenOf(process, shard)
      const hub = localHub && (() => localHub(shard))
      const readEpoch = createEpochReader(redis, shard)
      const epoch = await watchEpoch({ redis: redis.shard(shard), readEpoch, logger: LOGGER })
      const worker = await composeDispatch({
        shard,
        countCall: () => undefined,
        localHub: hub,
        redis: redis.shard(shard),
        subscriber: this.connectRedis(process, 'wait').shard(shard),
        epoch: this.bug === 'no-resync' ? withoutListeners(epoch) : epoch,
        jobs: openClaimedJobs(queues.dispatch, this.serverFor(shard), process, LOCK_MS, token),
        callJobs: this.callJobs(shard, connection),
        dispatchQueue: openQueue(queues.dispatch, connection).dispatch,
        enqueueSettlements: (records) => enqueueSettlements(settlement, records),
        settlementJobsLeft: async (jobIds) => {
          const states = await Promise.all(jobIds.map((jobId) => settlement.getJobState(jobId)))
          return states.map((state) => state !== 'unknown')
        },
        runFinish: this.runFinish(shard, connection, token, hub),
        calls,
        chain: this.bug === 'free-hang-up' ? withFreeHangUps(this.chain()) : this.chain(),
        catalog: () => CATALOG,
        bodies: BODIES_IN_JOBS,
        archive: NO_ARCHIVE,
        responseCache: { keep: async () => undefined, drop: async () => undefined },
        concurrency: SLOTS,
        pool,
        lockMs: LOCK_MS,
        graceMs: 1_000,
        unconfirmedSettlementsMax: SETTLEMENTS_KEPT,
        wholeCompletionBytesMax: 0,
        logger: LOGGER,
        clock: () => this.time.nowMs,
        fleetClock: () => this.time.nowMs,
      })
      started[shard] = worker
    }
    for (const shard of shardNumbers(this)) await this.time.runAs(process, () => void start(shard))
    const knows = (callId: string) =>
      started.some(
        (worker) =>
          [...worker.unsettled()].some((hold) => hold.callId === callId) ||
          [...worker.running()].some(({ envelope }) => envelope.id === callId),
      ) || running.some((calls) => calls.has(callId as CallId))
    return { process, knows, takeSlot: (shard) => started[shard]?.takeSlot() ?? null }
  }

  /** Without maintenance, which runs when the simulation says so. */
  async startSettlement(): Promise<SimulatedProcess> {
    const process = this.newProcess('settlement')
    const redis = this.connectRedis(process, 'wait')
    const holds = createHoldStore(redis)
    const store = this.store(process)
    const start = (shard: number) =>
      startSettlementWorker({
        jobs: openClaimedJobs(
          this.queues[shard]!.settlement,
          this.serverFor(shard),
          process,
          LOCK_MS,
          this.tokenOf(process, shard),
        ),
        store:
          this.bug === 'release-before-commit'
            ? {
                settle: async (records) => {
                  for (const { id, accountId } of records) {
                    const ledger = this.ledger.balance(accountId)!
                    await holds.apply(accountId, ledger, [{ callId: id, chargePico: 0n }])
                  }
                  return store.settle(records)
                },
              }
            : store,
        holds,
        logger: LOGGER,
        metrics: METRICS,
        report: { finished: () => undefined },
        settlementBatchMax: 50,
        jobLockMs: LOCK_MS,
      })
    for (const shard of shardNumbers(this)) await this.time.runAs(process, () => void start(shard))
    return process
  }

  /** Maintenance runs once, in a process of its own. */
  async maintain(): Promise<void> {
    const process = this.newProcess('maintenance')
    const connections = this.connect(process, 'wait')
    const redis = connectRedis(this.redis, connections, this.shards)
    const postgres = this.postgresServer.connect(process, 'fail-fast')
    const holds = createHoldStore(redis)
    const balances: BalanceStore = {
      balances: (ids) =>
        postgres.send(() => new Map(ids.map((id) => [id, this.ledger.balance(id)!] as const))),
      versions: (after) => postgres.send(() => this.ledger.versions().filter(({ id }) => id > after)),
      postedWithin: async () => [],
    }
    const known = (sql: string, ids: string[]) => {
      const table = sql.includes('quarantined') ? this.ledger.quarantined : this.ledger.calls
      const chargeOf = (id: string) => BigInt(this.ledger.calls.get(id)?.chargePico ?? '0')
      return ids.filter((id) => table.has(id)).map((id) => ({ id, chargePico: chargeOf(id) }))
    }
    const findQueued = createFindQueuedCalls(this.queuesToMaintain(connections))
    const start = (shard: number) => {
      const maintain = createMaintenance({
        ...{ shard, redis, findQueued },
        settlements: this.store(process),
        postgres: {
          $queryRawUnsafe: (sql: string, ids: string[]) => postgres.send(() => known(sql, ids)),
        } as unknown as Postgres,
        ...{ holds, balances },
        metrics: METRICS,
        readEpoch: createEpochReader(redis, shard),
        logger: LOGGER,
        clock: () => this.time.nowMs,
      })
      maintain().catch(() => undefined)
    }
    for (const shard of this.bug === 'sweeps-first-shard' ? [0] : shardNumbers(this))
      await this.time.runAs(process, () => start(shard))
  }

  /** Where maintenance looks calls up: in the queues of their shards. */
  private queuesToMaintain(connections: readonly Connection[]) {
    return shardNumbers(this)
      .map((shard) => (this.bug === 'looks-up-first-shard' ? 0 : shard))
      .map((shard) => {
        const connection = this.connectionTo(shard, connections)
        return {
          callJobs: this.callJobs(shard, connection),
          settlement: openQueue(this.queues[shard]!.settlement, connection).settlement,
        }
      })
  }

  /** The epoch of an API process, which is unknown until Redis answers. */
  private async watchedEpoch(
    process: SimulatedProcess,
    redis: Redis,
    readEpoch: ReadEpoch,
  ): Promise<CallPathParts['epoch']> {
    const emptied: Array<() => void> = []
    const reconnected: Array<() => void> = []
    let watch: EpochWatch | null = null
    const start = async () => {
      watch = await watchEpoch({ redis, readEpoch, logger: LOGGER })
      watch.onEmptied(() => {
        for (const listener of emptied) listener()
      })
      watch.onReconnected(() => {
        for (const listener of reconnected) listener()
      })
    }
    await this.time.runAs(process, () => void start().catch(() => undefined))
    return {
      current: () => watch?.current() ?? 'none',
      durabilityToken: async () => (await watch?.durabilityToken()) ?? 'unknown',
      lastToken: () => watch?.lastToken() ?? 'none',
      onEmptied: (listener) => void emptied.push(listener),
      onReconnected: (listener) => void reconnected.push(listener),
    }
  }

  private store(process: SimulatedProcess): SettlementStore {
    const connection = this.postgresServer.connect(process, 'fail-fast')
    return {
      settle: (records) =>
        connection.send(() => {
          if (this.bug === 'charge-twice') for (const { id } of records) this.ledger.calls.delete(id)
          return this.ledger.settle(records)
        }),
    }
  }

  private runFinish(
    shard: number,
    connection: Connection,
    token: string,
    localHub?: () => LocalHub | null,
  ): RunFinish {
    const { data, pubSub, lastSteps } = this.serverFor(shard)
    const models = {
      shards: this.shards,
      lastSteps,
      data: this.bug === 'hold-until-settled' ? new ModelRedis(() => this.time.nowMs) : data,
      hasFrames: (channel: string) => pubSub.listeners(channel) > 0,
      publish: (channel: string, frames: readonly Frame[]) =>
        void pubSub.publish(channel, encodeFrames(token, frames)),
      token,
      ...this.queues[shard]!,
    }
    const run: RunFinish = (jobId, calls) =>
      connection.send(() => finishCalls({ ...models, nowMs: this.time.nowMs }, jobId, calls))
    if (this.bug === 'settle-after-end-colocated')
      return (jobId, calls) => {
        localHub?.()?.receive(
          token,
          calls.map(({ last }) => last),
        )
        return run(jobId, calls)
      }
    if (this.bug !== 'settle-after-end') return run
    return async (jobId, calls) => {
      await connection.send(() => {
        for (const { channel, last, isPublished } of calls) if (isPublished) models.publish(channel, [last])
      })
      return run(jobId, calls)
    }
  }

  private runningCalls(): RunningCalls {
    switch (this.bug) {
      case 'charge-failed':
        return new ChargingCalls()
      case 'runs-by-number':
        return new NumberedCalls()
      default:
        return new RunningCalls()
    }
  }

  private callJobs(shard: number, connection: Connection): CallJobs {
    const { dispatch } = this.queues[shard]!
    const jobs = openCallJobs(dispatch, this.serverFor(shard).data, connection, shard)
    if (this.bug === 'runs-by-number') {
      const knows = (callId: string, number: number) =>
        (dispatch.jobs.get(callId)?.attemptsStarted ?? 0) >= number
      const reclaim: CallJobs['reclaim'] = async (callId, claim) =>
        (await connection.send(() => knows(callId, claim.number))) ? jobs.reclaim(callId, claim) : 'lost'
      return { ...jobs, reclaim }
    }
    if (this.bug === 'told-by-message') return { ...jobs, noteFailure: async () => true }
    if (this.bug !== 'withdraw-by-remove') return jobs
    const withdraw = (callId: string) =>
      connection.send(() => (dispatch.remove(callId) === 1 ? 'withdrawn' : 'claimed'))
    return { ...jobs, withdraw }
  }

  private chain() {
    const provider = createSimulatedProvider(this.random, () => `v${++this.attempts}`)
    return createAttemptChain({
      ...UNMEASURED,
      catalog: () => CATALOG,
      providers: () => provider,
      board: {
        health: () => ({ kind: 'ready' }),
        claimProbe: async () => null,
        probeAnswers: () => undefined,
        report: () => undefined,
        learn: () => undefined,
        exclude: () => undefined,
      },
      budget: { countCall: () => undefined, ask: async () => true, close: async () => undefined },
      settings: {
        attemptsPerCall: LIMITS.attemptsPerCall,
        firstTokenTimeoutMs: 800,
        lastFirstTokenTimeoutMs: 1_200,
        reasoningFirstTokenTimeoutMs: 1_200,
        reasoningLastFirstTokenTimeoutMs: 1_200,
        idleTimeoutMs: 700,
        flexWaitMs: 60_000,
        dripTokensMin: 10,
      },
      logger: LOGGER,
      now: () => this.time.nowMs,
      random: this.random.unit,
    })
  }

  /** Connects a process to each server of Redis. */
  private connect(process: SimulatedProcess, mode: ConnectionMode): Connection[] {
    return this.redis.map(({ server }) => server.connect(process, mode))
  }

  private connectRedis(process: SimulatedProcess, mode: ConnectionMode): Redis {
    return connectRedis(this.redis, this.connect(process, mode), this.shards)
  }

  private serverFor(shard: number): RedisServer {
    return this.redis[shard % this.redis.length]!
  }

  private connectionTo(shard: number, connections: readonly Connection[]): Connection {
    return connections[shard % connections.length]!
  }

  /** The name of a process as the worker of a shard. */
  private tokenOf({ name }: SimulatedProcess, shard: number): string {
    return this.shards === 1 ? name : `${name}.${shard}`
  }

  private newProcess(role: string): SimulatedProcess {
    this.started += 1
    return new SimulatedProcess(`${role}-${this.started}`)
  }
}

/** Frames of all runs under one number look alike. */
class NumberedCalls extends RunningCalls {
  override add(...[claimed, outbox]: Parameters<RunningCalls['add']>) {
    return super.add(claimed, Object.assign(outbox, { run: 'run' }))
  }
}

/** Charges calls that the gateway gave up as if their clients had left. */
class ChargingCalls extends RunningCalls {
  override control(message: ControlMessage): void {
    super.control(message.kind === 'cancel' ? { ...message, ending: { by: 'client' } } : message)
  }
}

/** Charges nothing where no content came before the client left. */
const withFreeHangUps =
  (chain: AttemptChain): AttemptChain =>
  async (call) => {
    const outcome = await chain(call)
    const isFree = outcome.status === 'cancelled' && outcome.message?.content === ''
    return isFree ? { ...outcome, ...NOTHING_USED, served: null } : outcome
  }

/** An epoch that reports nothing of lost data. */
const withoutListeners = (epoch: EpochWatch): EpochWatch => ({
  ...epoch,
  onEmptied: () => undefined,
  onReconnected: () => undefined,
})

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
              list_price: { prompt: '0.40', completion: '2.30' },
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

import { createHoldStore, type RestoredHold } from '../src/billing/holds/hold-store.ts'
import type { AttemptChain } from '../src/calls/attempts/attempt-history.ts'
import { createFinisher, type RunFinish } from '../src/calls/dispatch/finish-calls.ts'
import { createRedisResync } from '../src/calls/dispatch/redis-resync.ts'
import { listenForControl, type RunningCalls } from '../src/calls/dispatch/running-calls.ts'
import { SettlementOutbox } from '../src/calls/dispatch/settlement-outbox.ts'
import type { HeldBodies } from '../src/calls/relay/call-bodies.ts'
import type { CompletionArchive } from '../src/calls/relay/completion-archive.ts'
import { FramePublisher } from '../src/calls/relay/frame-publisher.ts'
import type { CallEnvelope, CallJob, SettlementRecord } from '../src/core/calls/call-job.ts'
import type { CatalogSnapshot } from '../src/core/catalog/catalog.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'
import type { CallJobs } from '../src/platform/queues/call-jobs.ts'
import type { ClaimedJobs } from '../src/platform/queues/claimed-jobs.ts'
import type { DispatchQueue } from '../src/platform/queues/queues.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import type { EpochWatch } from '../src/platform/redis/redis-epoch.ts'
import { DispatchWorker } from './dispatch-worker.ts'

/** The clients of one dispatch worker, and its settings. */
export interface DispatchParts {
  workerId: string
  /** Frames, holds and queues go over one connection, so that what is sent first is done first. */
  redis: Redis
  /** A connection in subscriber mode. */
  subscriber: Redis
  epoch: EpochWatch
  jobs: ClaimedJobs<CallJob>
  callJobs: CallJobs
  dispatchQueue: DispatchQueue
  enqueueSettlements: (records: SettlementRecord[]) => Promise<string>
  settlementJobsLeft: (jobIds: string[]) => Promise<boolean[]>
  runFinish: RunFinish
  calls: RunningCalls
  chain: AttemptChain
  catalog: () => CatalogSnapshot
  bodies: HeldBodies
  archive: CompletionArchive
  /** Called with each call that ended here. */
  countCall?: (record: SettlementRecord) => void
  settings: {
    concurrency: number
    lockMs: number
    graceMs: number
    unconfirmedSettlementsMax: number
    wholeAnswerBytesMax: number
  }
  logger: Logger
  clock: () => number
  /** The clock that the deadlines of calls are set by. */
  fleetClock: () => number
}

/** A dispatch worker that runs. */
export interface ComposedDispatch {
  /** The calls that run here. */
  running(): Iterable<{ envelope: CallEnvelope }>
  /** The holds of ended calls whose settlement is not confirmed. */
  unsettled(): Iterable<RestoredHold>
  stop(): Promise<void>
}

/** How often settlements are confirmed. */
const CONFIRM_MS = 1_000

/** Composes and starts the worker of one dispatch process: everything between the queue and the providers. */
export async function composeDispatch(parts: DispatchParts): Promise<ComposedDispatch> {
  const { redis, subscriber, epoch, calls, workerId, countCall, settings, logger, clock } = parts
  const holds = createHoldStore(redis)
  const publisher = new FramePublisher({
    worker: workerId,
    redis,
    logger,
    onLost: (frames) => calls.noteLost(frames),
    onUnheard: (channel, heardAt) => calls.abortChannel(channel, heardAt),
    openChannels: () => calls.channels(),
    onRound: () => calls.markSent(clock()),
    clock,
  })
  const outbox = new SettlementOutbox({
    enqueue: parts.enqueueSettlements,
    jobsLeft: parts.settlementJobsLeft,
    durabilityToken: epoch.durabilityToken,
    logger,
    max: settings.unconfirmedSettlementsMax,
  })
  const finish = createFinisher({ run: parts.runFinish, flush: () => publisher.flush(), outbox })
  const worker = new DispatchWorker({
    ...parts,
    ...settings,
    publisher,
    holds,
    keepUnsent(call) {
      countCall?.(call.record)
      outbox.keepUnsent(call)
    },
    async finish(call) {
      const result = await finish(call)
      if (result === 'finished') countCall?.(call.record)
      return result
    },
  })
  const { resync, confirm } = createRedisResync({ leases: worker.leases, outbox, holds, logger })
  epoch.onEmptied(() => void resync('emptied'))
  epoch.onReconnected(() => void resync('reconnected'))
  const stopConfirming = pollEvery(CONFIRM_MS, confirm, () => undefined)
  await listenForControl(subscriber, workerId, (message) => calls.control(message))
  await worker.start()
  return {
    running: () => worker.leases.running(),
    unsettled: () => outbox.holds(),
    async stop() {
      await worker.stop()
      stopConfirming()
      publisher.stop()
    },
  }
}

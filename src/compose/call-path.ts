import type { AccountStore } from '../accounts/account-store.ts'
import { findCharges } from '../billing/call-records/known-calls.ts'
import { createGroupLimit, type GroupLimit } from '../billing/holds/group-limits.ts'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import { markRefused } from '../billing/holds/refused-accounts.ts'
import { createSpendStore, type SpendStore } from '../billing/reports/spend-store.ts'
import { findSettledKey } from '../billing/settlement/settlement-statements.ts'
import type { AdmissionDependencies } from '../calls/api/admit-call.ts'
import { createBalanceLoaders, type Recovery } from '../calls/api/balance-loaders.ts'
import { CallHub, type CallHubOptions } from '../calls/api/call-hub.ts'
import { type DispatchDependencies, undoAdmission } from '../calls/api/enqueue-and-wait.ts'
import { createLoadBound, FEW_CALLS } from '../calls/api/load-bound.ts'
import { createCleanupTasks } from '../calls/cleanup-tasks.ts'
import type { TakeSlotOfShard } from '../calls/in-process-link.ts'
import { createCallBodies } from '../calls/protocol/call-bodies.ts'
import { createCompletionArchive, createIdempotency, KEPT_REPLIES } from '../calls/protocol/idempotency.ts'
import { CACHED_RESPONSES, createResponseCache } from '../calls/protocol/response-cache.ts'
import type { Config } from '../config.ts'
import { chooseAutoModels } from '../core/auto/auto-routing.ts'
import { newId } from '../core/kernel/ids.ts'
import { createSharedRoom } from '../core/kernel/shared-room.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { CallQueues } from '../platform/queues/call-queues.ts'
import { watchSettlementBacklog } from '../platform/queues/settlement-backlog.ts'
import type { Redis } from '../platform/redis/redis.ts'
import {
  createEpochReader,
  type EpochWatch,
  type ReadEpoch,
  untilResynced,
  watchEpoch,
} from '../platform/redis/redis-epoch.ts'
import { shardOf } from '../platform/redis/redis-keys.ts'
import { createSealer } from '../platform/sealing.ts'
import { createLimitNotice } from '../webhooks/limit-notice.ts'
import type { Clients, openQueues } from './clients.ts'

/** The stores of calls' bodies and of the completions that are kept for repeats, both encrypted. */
export function composeCallTexts(
  role: 'api' | 'dispatch',
  config: Readonly<Config>,
  { redis, logger, resources }: Pick<Clients, 'redis' | 'logger' | 'resources'>,
) {
  const { masterKeys } = config
  const sealer = createSealer(masterKeys, 'call-body')
  const bodies = createCallBodies({ ...config, name: `shuntyard-${role}-bodies`, sealer, logger })
  resources.defer(() => bodies.close())
  const archive = createCompletionArchive(redis, createSealer(masterKeys, 'kept-reply'), {
    ...KEPT_REPLIES,
    perAnswer: config.keptReplyBytesMax,
  })
  const responseCache = createResponseCache(redis, createSealer(masterKeys, 'kept-reply'), {
    ...CACHED_RESPONSES,
    perAnswer: config.keptReplyBytesMax,
  })
  return { bodies, archive, responseCache }
}

/** Watches the epoch of a shard for as long as the process runs. */
export async function watchShard(
  shard: number,
  { redis, logger, resources }: Pick<Clients, 'redis' | 'logger' | 'resources'>,
): Promise<EpochWatch> {
  const readEpoch = createEpochReader(redis, shard)
  const epoch = await watchEpoch({ redis: redis.shard(shard), shard, readEpoch, logger })
  resources.defer(() => epoch.stop())
  return epoch
}

/** The paths of calls in an API process, from their start to the relay of their frames: one for each shard. */
export async function composeCallPaths(
  config: Readonly<Config>,
  clients: Clients & { replySubscriber: Redis; postgres: Postgres },
  given: Pick<CallPathParts, 'catalog' | 'offerStates' | 'accounts' | 'holds'> & {
    queues: ReturnType<typeof openQueues>
    takeSlot: TakeSlotOfShard | undefined
  },
) {
  const { redis, postgres, logger, resources, fleetClock: clock } = clients
  const { queues, takeSlot } = given
  const apiId = newId('api')
  const texts = composeCallTexts('api', config, clients)
  const places = createSharedRoom({ max: config.pendingCallsMax, few: FEW_CALLS })
  const spend = createSpendStore(postgres)
  const findSettled = (accountId: string, digest: string) => findSettledKey(postgres, accountId, digest)
  const idempotency = createIdempotency({ redis, findSettled, logger })
  const composePath = async ({ shard, callJobs, ...ofCalls }: CallQueues) => {
    const epoch = await watchShard(shard, clients)
    const cleanup = createCleanupTasks(logger, epoch)
    const { hub, admission, dispatch } = connectCallPath({
      ...given,
      ...texts,
      ...{
        shard,
        places,
        apiId,
        redis,
        epoch,
        cleanup,
        logger,
        clock,
        spend,
        groupLimit: createGroupLimit(postgres),
        callJobs,
        dispatchQueue: ofCalls.dispatch,
        settlementQueue: ofCalls.settlement,
      },
      subscriber: clients.replySubscriber,
      readEpoch: createEpochReader(redis, shard),
      recoveryGraceMs: config.recoveryGraceMs,
      charges: (callIds) => findCharges(postgres, callIds),
      noteLimitReached: createLimitNotice({
        redis,
        postgres,
        groupLimit: createGroupLimit(postgres),
        cleanup,
      }),
      takeSlot: takeSlot && (() => takeSlot(shard)),
      limits: config,
      topUpUrl: `${config.publicUrl ?? `http://127.0.0.1:${config.port}`}/billing`,
      random: Math.random,
    })
    await hub.start()
    resources.defer(() => hub.stop())
    const backlog = watchSettlementBacklog({
      ...{ redis: redis.shard(shard), shard, logger },
      maxBytes: config.settlementBacklogBytesMax,
    })
    resources.defer(() => backlog.stop())
    // Its own turns: calls that wait for a server that hangs delay no other shard.
    const load = createLoadBound(places, undefined, undefined, backlog.isFull)
    return { hub, admission, dispatch, load, idempotency, responseCache: texts.responseCache }
  }
  const paths = await Promise.all(queues.calls.map(composePath))
  return { apiId, paths, pathOf: (accountId: string) => paths[shardOf(accountId, redis)]! }
}

/** The clients and settings of the call path of one shard in an API process. */
export interface CallPathParts
  extends Pick<
      AdmissionDependencies,
      | 'catalog'
      | 'offerStates'
      | 'noteLimitReached'
      | 'cleanup'
      | 'limits'
      | 'topUpUrl'
      | 'clock'
      | 'random'
      | 'takeSlot'
    >,
    Pick<
      DispatchDependencies,
      'dispatchQueue' | 'callJobs' | 'settlementQueue' | 'bodies' | 'archive' | 'logger'
    >,
    Pick<CallHubOptions, 'places'> {
  apiId: string
  shard: number
  redis: Redis
  /** A separate connection: it is put into subscriber mode. */
  subscriber: Redis
  epoch: Pick<EpochWatch, 'current' | 'durabilityToken' | 'lastToken' | 'onEmptied' | 'onReconnected'>
  readEpoch: ReadEpoch
  /** Time for workers to rebuild the state that Redis lost. */
  recoveryGraceMs: number
  holds: HoldStore
  accounts: Pick<AccountStore, 'find'>
  spend: Pick<SpendStore, 'holdsOf' | 'spending'>
  groupLimit: GroupLimit
  charges: Recovery['charges']
}

/** The call path of one shard in an API process. */
export interface CallPath {
  hub: CallHub
  admission: AdmissionDependencies
  dispatch: DispatchDependencies
}

/**
 * How often ends are acknowledged where a worker shares the process. Its calls end in the turn in which they are finished, so
 * what is not acknowledged when the process dies was delivered more often than not.
 */
const COLOCATED_ACKNOWLEDGE_MS = 200

/** Connects admission and relay. The caller must start the hub. */
export function connectCallPath(parts: CallPathParts): CallPath {
  const { shard, redis, subscriber, holds, epoch, readEpoch, recoveryGraceMs } = parts
  const hub = new CallHub({
    ...parts,
    subscriber: subscriber.shard(shard),
    publisher: redis.shard(shard),
    ...(parts.takeSlot && { acknowledgeEveryMs: COLOCATED_ACKNOWLEDGE_MS }),
  })
  epoch.onReconnected(() => hub.acknowledgeAgain())
  // By then workers have reported their calls.
  epoch.onEmptied(() => {
    hub.dataLost()
    setTimeout(() => hub.lookForAll(), recoveryGraceMs).unref()
  })
  const loaders = createBalanceLoaders(parts.accounts, parts.spend, parts.groupLimit, holds, {
    resynced: () => untilResynced(readEpoch, recoveryGraceMs),
    charges: parts.charges,
  })
  const dispatch = { ...parts, hub }
  return {
    hub,
    admission: {
      ...parts,
      ...loaders,
      chooseAutoModels,
      hub,
      admit: markRefused(holds.admit, redis),
      releaseHold: holds.release,
      sealBody: parts.bodies.seal,
      undoAdmission: (envelope, sentIn) =>
        undoAdmission(envelope, async () => (await epoch.durabilityToken()) === sentIn, dispatch),
      replyChannel: hub.channel,
      epoch: () => epoch.current(),
      durabilityToken: () => epoch.lastToken(),
    },
    dispatch,
  }
}

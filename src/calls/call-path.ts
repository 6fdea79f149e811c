import type { AccountStore } from '../accounts/account-store.ts'
import { createHoldStore } from '../billing/holds/hold-store.ts'
import type { SpendStore } from '../billing/reports/spend-store.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { type EpochWatch, type ReadEpoch, untilResynced } from '../platform/redis/redis-epoch.ts'
import type { AdmissionDependencies } from './admission/admit-call.ts'
import { bodyText, type DispatchDependencies, undoAdmission } from './admission/dispatch-call.ts'
import { createBalanceLoaders, type Recovery } from './admission/load-balances.ts'
import { CallHub } from './relay/call-hub.ts'

/** The clients that the way of a call needs in one API process, and its settings. */
export interface CallPathParts
  extends Pick<
      AdmissionDependencies,
      'catalog' | 'offerStates' | 'noteLimitReached' | 'cleanup' | 'limits' | 'topUpUrl' | 'clock' | 'random'
    >,
    Pick<
      DispatchDependencies,
      'dispatchQueue' | 'callJobs' | 'settlementQueue' | 'bodies' | 'archive' | 'logger'
    > {
  apiId: string
  redis: Redis
  /** A connection of its own: it is put into subscriber mode. */
  subscriber: Redis
  epoch: Pick<EpochWatch, 'current' | 'onEmptied'>
  readEpoch: ReadEpoch
  /** How long workers may take to rebuild what Redis lost. */
  recoveryGraceMs: number
  accounts: Pick<AccountStore, 'find'>
  spend: SpendStore
  charges: Recovery['charges']
}

/** The way of a call in one API process. */
export interface CallPath {
  hub: CallHub
  admission: AdmissionDependencies
  dispatch: DispatchDependencies
}

/** Composes admission and relay. The hub is still to be started. */
export function composeCallPath(parts: CallPathParts): CallPath {
  const { redis, epoch, readEpoch, recoveryGraceMs, logger, clock } = parts
  const hub = new CallHub({ ...parts, publisher: redis })
  const holds = createHoldStore(redis)
  // By then workers have reported which calls they have.
  epoch.onEmptied(() => void setTimeout(() => hub.checkLivenessOfAll(), recoveryGraceMs).unref())
  const loaders = createBalanceLoaders(parts.accounts, parts.spend, holds, {
    resynced: () => untilResynced(readEpoch, recoveryGraceMs),
    charges: parts.charges,
  })
  const dispatch = { ...parts, hub, holds, logger, clock }
  return {
    hub,
    admission: {
      ...parts,
      ...loaders,
      hub,
      admit: holds.admit,
      releaseHold: holds.release,
      sealBody: (callId, request) => parts.bodies.seal(callId, bodyText(request)),
      undoAdmission: (envelope) => undoAdmission(envelope, dispatch),
      replyChannel: hub.channel,
      epoch: () => epoch.current(),
    },
    dispatch,
  }
}

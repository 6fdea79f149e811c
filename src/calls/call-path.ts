import type { AccountStore } from '../accounts/account-store.ts'
import { createAllowanceStore } from '../billing/holds/allowance-store.ts'
import { createHoldStore, type HoldStore } from '../billing/holds/hold-store.ts'
import { markRefused } from '../billing/holds/refused-accounts.ts'
import type { SpendStore } from '../billing/reports/usage-store.ts'
import { createSingleFlight } from '../core/kernel/single-flight.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { type EpochWatch, type ReadEpoch, untilResynced } from '../platform/redis/redis-epoch.ts'
import type { AdmissionDependencies } from './admission/admit-call.ts'
import { type DispatchDependencies, undoAdmission } from './admission/dispatch-call.ts'
import type { Colocation } from './colocation.ts'
import { CallHub, type CallHubOptions } from './relay/call-hub.ts'

/** The clients that the way of a call needs in one API process, and its settings. */
export interface CallPathParts
  extends Pick<
      AdmissionDependencies,
      'catalog' | 'offerStates' | 'noteLimitReached' | 'cleanup' | 'limits' | 'topUpUrl' | 'clock' | 'random'
    >,
    Pick<
      DispatchDependencies,
      'dispatchQueue' | 'callJobs' | 'settlementQueue' | 'bodies' | 'archive' | 'logger'
    >,
    Pick<CallHubOptions, 'places'> {
  apiId: string
  redis: Redis
  /** A connection of its own: it is put into subscriber mode. */
  subscriber: Redis
  epoch: Pick<EpochWatch, 'current' | 'check' | 'onEmptied'>
  readEpoch: ReadEpoch
  /** How long workers may take to rebuild what Redis lost. */
  recoveryGraceMs: number
  accounts: Pick<AccountStore, 'find'>
  spend: Pick<SpendStore, 'keysOf' | 'spending'>
  charges: Recovery['charges']
  /** Absent: no worker shares the process. */
  colocation?: Colocation | undefined
}

/** The way of a call in one API process. */
export interface CallPath {
  hub: CallHub
  admission: AdmissionDependencies
  dispatch: DispatchDependencies
}

/** Composes admission and relay. The hub is still to be started. */
export function composeCallPath(parts: CallPathParts): CallPath {
  const { redis, epoch, readEpoch, recoveryGraceMs, logger, clock, colocation = {} } = parts
  const hub = new CallHub({ ...parts, publisher: redis })
  colocation.hub = hub
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
      colocation,
      admit: markRefused(holds.admit, redis),
      releaseHold: holds.release,
      sealBody: parts.bodies.seal,
      undoAdmission: (envelope, askedIn) =>
        undoAdmission(envelope, async () => (await epoch.check()) === askedIn, dispatch),
      replyChannel: hub.channel,
      epoch: () => epoch.current(),
    },
    dispatch,
  }
}

/** Reads of a balance that Redis knows a newer one of. */
const LOADS_MAX = 5

/** What loading has to know of a Redis that lost its data. */
export interface Recovery {
  /** Resolves to the epoch of Redis's data, once workers have had time to tell it what they hold. */
  resynced: () => Promise<string>
  /** What PostgreSQL charged for some calls, of those that are settled. */
  charges: (callIds: string[]) => Promise<Map<string, bigint>>
}

/** How admission brings figures that Redis does not know (yet, or any more) over from PostgreSQL. */
export function createBalanceLoaders(
  accounts: Pick<AccountStore, 'find'>,
  spend: Pick<SpendStore, 'keysOf' | 'spending'>,
  holds: HoldStore,
  recovery: Recovery,
): Pick<AdmissionDependencies, 'loadBalance' | 'loadAllowance'> {
  const balanceOf = async (accountId: string) => {
    const account = await accounts.find(accountId)
    if (!account) throw new Error(`account ${accountId} of a live key does not exist`)
    return account
  }
  const allowances = createAllowanceStore(holds, spend)
  const once = createSingleFlight()
  return {
    loadBalance: (accountId) =>
      once(accountId, async () => {
        for (let load = 0; load < LOADS_MAX; load++) {
          const epoch = await recovery.resynced()
          await holds.announceLoad(accountId, epoch)
          // Asked again: the announcement itself must have been made within the epoch.
          if ((await recovery.resynced()) !== epoch) continue
          // Workers resync more than was lost: charges of settled calls are inside the balance already.
          const open = (await holds.openHolds(accountId)).map((hold) => hold.callId)
          const charges = open.length > 0 ? await recovery.charges(open) : new Map<string, bigint>()
          const settled = [...charges].map(([callId, chargePico]) => ({ callId, chargePico }))
          const ledger = await balanceOf(accountId)
          if (settled.length > 0) await holds.apply(accountId, ledger, settled)
          if (await holds.load(accountId, ledger, epoch)) return
        }
      }),

    loadAllowance: ({ period, ...budget }) => allowances.load(budget, period),
  }
}

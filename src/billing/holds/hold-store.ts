import { withTimeout } from '../../platform/process/with-timeout.ts'
import { readScript } from '../../platform/redis/read-script.ts'
import { defineScript, type Redis, redisOf } from '../../platform/redis/redis.ts'
import { RedisAwayError } from '../../platform/redis/redis-deadlines.ts'
import {
  accountKeys,
  admittedKey,
  LEDGER_LOSSES,
  listedAccounts,
  shardNumbers,
  shardOf,
} from '../../platform/redis/redis-keys.ts'
import { createAdmission, readHolds } from './admission.ts'
import { createAllowanceCache } from './allowance-cache.ts'

/** Time from the last deadline of a call until a sweep may close its hold. */
export const HOLD_SLACK_MS = 60_000

/** An account's balance in the ledger after `version` transactions. */
export interface LedgerBalance {
  balancePico: bigint
  version: bigint
}

/** The ledger balance of an account after some settlements, and the holds of their calls. */
export interface AccountSettlement extends LedgerBalance {
  accountId: string
  /** The charge of each call in the ledger; the rest of its hold is released. */
  released: Array<{ callId: string; chargePico: bigint }>
}

/** The slots that a call gives back in the concurrency limits of its key and account, and what its hold shrinks to. */
interface SlotRelease {
  accountId: string
  keyId: string
  callId: string
  chargePico: bigint
}

/** An account's amounts in Redis; null if they are not loaded. */
export interface SpendableBalance {
  availPico: bigint | null
  heldPico: bigint
  version: bigint | null
}

/** Also counts and sums the open holds at the same instant. */
export interface HoldSummary extends SpendableBalance {
  openHolds: number
  holdsPico: bigint
}

/** The hold of a running or unsettled call, to be restored in a Redis that lost it. */
export interface RestoredHold {
  callId: string
  accountId: string
  keyId: string
  amountPico: bigint
  /** Tokens. */
  completionLimit: number
  /** The budgets that the hold was taken from, see drawText. */
  draws: string
  /** When a sweep may close the hold, unix ms. */
  deadlineAt: number
  /** Whether the call takes a slot among the open calls of its key and account. */
  isOpen: boolean
}

/** A hold on money that will be taken back. */
export interface TakebackHold {
  holdId: string
  /** The available amount, at most the requested one. */
  amountPico: bigint
}

/** Older than every ledger balance, so that it only closes holds. */
const NO_NEWS = { balancePico: 0n, version: 0n }
/** Maximum accounts listed by one command. */
const LISTED_AT_ONCE = 1_000
/** How long the balance cache of an account without calls is kept. */
const IDLE_KEPT_MS = 86_400_000
/** Maximum holds closed by one script: Lua accepts some thousands of arguments. */
const RELEASED_AT_ONCE = 1_000
/** Far longer than a load takes. */
const LOADING_MS = 60_000
/** Maximum wait for Redis to hold a takeback, because the account's row is locked in PostgreSQL meanwhile. */
const TAKEBACK_ANSWER_MS = 1_000
/** All calls of a deleted account have ended by then. */
const DELETED_KEPT_SECONDS = 86_400
/** Longer than any transaction that takes money back. */
const TAKEBACK_LIFETIME_MS = 60_000
/** A refund whose rail did not respond is requested again within this time. */
const REFUND_LIFETIME_MS = 600_000
/** Prefix of the hold ids of takebacks; calls have other prefixes. */
const TAKEBACK_PREFIX = 'takeback_'

/** Prefix of the hold ids of a payment's refunds. */
const refundHolds = (paymentId: string): string => `${TAKEBACK_PREFIX}${paymentId}-`

export const isTakebackHold = (holdId: string): boolean => holdId.startsWith(TAKEBACK_PREFIX)

/**
 * The balance cache in Redis: the spendable amount of each account and its open holds. `avail = balance at version −
 * held` is true after every step. Admission opens holds; settlement, the sweep and repairs close them. Every method can
 * be repeated, and called in any order with the others. All of them reject while Redis is away.
 */
export type HoldStore = ReturnType<typeof createHoldStore>

/** The hold store over one Redis client. */
export function createHoldStore(redis: Redis) {
  const script = (name: string, file: string) =>
    defineScript(redis, name, readScript(import.meta.url, './holds.lua', file))
  const applyScript = script('syApply', './apply.lua')
  const restore = script('syRestoreHold', './restore-hold.lua')
  const end = script('syEndCall', './end-call.lua')
  const reserve = script('syReserveTakeback', './reserve.lua')
  const inspect = script('syInspect', './inspect.lua')
  const rebuild = script('syRebuild', './rebuild.lua')
  const unlist = script('syUnlist', './unlist.lua')
  const listOf = (accountId: string) => listedAccounts(shardOf(accountId, redis))
  const recordOf = (accountId: string) => accountKeys(accountId, redis).record
  const keysOf = (accountId: string) => {
    const { record, absent } = accountKeys(accountId, redis)
    return [record, absent]
  }
  const inspectAccount = async (accountId: string): Promise<HoldSummary> => {
    const [avail, held, version, openHolds, holds] = (await inspect(keysOf(accountId), [])) as [
      string | null,
      string,
      string | null,
      number,
      string,
    ]
    return {
      availPico: amountOf(avail),
      heldPico: BigInt(held),
      version: amountOf(version),
      openHolds,
      holdsPico: BigInt(holds),
    }
  }
  /** Reads a record once it has replaced the keys of earlier versions, of which one has its name. */
  const reading = async <T>(accountId: string, read: () => Promise<T>): Promise<T> => {
    try {
      return await read()
    } catch (error) {
      if (!isWrongType(error)) throw error
      await inspectAccount(accountId)
      return read()
    }
  }
  const readFields = (accountId: string, ...fields: string[]) =>
    reading(accountId, () => redisOf(accountId, redis).hmget(recordOf(accountId), ...fields))

  const apply = async (
    accountId: string,
    ledger: LedgerBalance,
    released: Readonly<AccountSettlement['released']>,
    load: string,
  ): Promise<SpendableBalance> => {
    if (released.length > RELEASED_AT_ONCE) {
      await apply(accountId, ledger, released.slice(RELEASED_AT_ONCE), load)
      return apply(accountId, ledger, released.slice(0, RELEASED_AT_ONCE), load)
    }
    const [avail, held] = (await applyScript(keysOf(accountId), [
      String(ledger.balancePico),
      String(ledger.version),
      load,
      ...released.flatMap((hold) => [hold.callId, String(hold.chargePico)]),
    ])) as [string | null, string]
    return { availPico: amountOf(avail), heldPico: BigInt(held), version: ledger.version }
  }

  const holdTakeback = async (
    accountId: string,
    { holdId, wantedPico, lifetimeMs }: { holdId: string; wantedPico: bigint; lifetimeMs: number },
    ledger: LedgerBalance,
    replaced = '',
  ): Promise<TakebackHold> => {
    // The balance cache may lack a credit that was just posted.
    await apply(accountId, ledger, [], '')
    const args = [holdId, String(wantedPico), lifetimeMs, String(ledger.balancePico), replaced]
    const amount = await reserve(keysOf(accountId), args)
    return { holdId, amountPico: BigInt(String(amount)) }
  }

  return {
    /** Admits a call within all its limits and takes its hold. */
    admit: createAdmission(redis),

    /**
     * Applies a ledger balance unless a newer one is known, and closes the holds of settled calls. A balance cache that
     * is not in Redis stays unloaded.
     */
    apply: (accountId: string, ledger: LedgerBalance, released: Readonly<AccountSettlement['released']>) =>
      apply(accountId, ledger, released, ''),

    /** Closes a hold that may or may not exist, without a charge. */
    async release(accountId: string, callId: string) {
      await apply(accountId, NO_NEWS, [{ callId, chargePico: 0n }], '')
    },

    /** Whether a call was admitted and enqueued in one step in the last MARK_MS. */
    wasEnqueued: async ({ id, accountId }: { id: string; accountId: string }) =>
      (await redisOf(accountId, redis).exists(admittedKey(id, shardOf(accountId, redis)))) === 1,

    /**
     * Loads the balance cache of an account on first use: a ledger balance less the open holds. False if the balance
     * cache has a newer balance: read the ledger again. With an epoch, also false if Redis lost its data since
     * `announceLoad`.
     */
    async load(accountId: string, ledger: LedgerBalance, epoch = '*') {
      return (await apply(accountId, ledger, [], epoch)).availPico !== null
    },

    /** Marks that the balance cache of an account will be loaded within this epoch of Redis's data. */
    async announceLoad(accountId: string, epoch: string) {
      await redisOf(accountId, redis).set(accountKeys(accountId, redis).loading, epoch, 'PX', LOADING_MS)
    },

    /** Restores the hold of an admitted call after Redis lost it. False if it exists. */
    async restore({ callId, accountId, keyId, ...hold }: RestoredHold) {
      const amount = String(hold.amountPico)
      const isOpen = hold.isOpen ? '1' : '0'
      const taken = await restore(keysOf(accountId), [
        ...[callId, amount, hold.completionLimit, keyId, hold.draws, hold.deadlineAt, isOpen],
      ])
      return taken === 1
    },

    /**
     * Releases the call's slots in the concurrency limits of its key and account, and shrinks its hold to the charge;
     * settlement closes the hold. For a call that no worker finishes (see src/calls/worker/finish-calls.ts).
     */
    async endCall({ accountId, keyId, callId, chargePico }: SlotRelease) {
      await end(keysOf(accountId), [callId, String(chargePico), keyId])
    },

    /**
     * Holds money that will be taken back, as much as is available. Like a call, it is held here, posted in PostgreSQL,
     * and then the hold is closed. So it never takes money held by a running call, and no call is admitted on money
     * that is about to leave. The caller has locked the account's row, so `ledger` is the newest balance, and its
     * version names the hold: the same posting, retried after a failure or a crash, takes the same hold. Money held for
     * refunds of the payment counts as available. Throws when Redis does not respond within a second, to limit the time
     * of the row lock; the sweep releases a hold that Redis took nevertheless.
     */
    async reserveTakeback(accountId: string, wantedPico: bigint, ledger: LedgerBalance, paymentId?: string) {
      let failure: unknown = new RedisAwayError('does not respond within a second')
      const holding = holdTakeback(
        accountId,
        { holdId: `${TAKEBACK_PREFIX}${ledger.version}`, wantedPico, lifetimeMs: TAKEBACK_LIFETIME_MS },
        ledger,
        paymentId && refundHolds(paymentId),
      )
      const hold = await withTimeout(holding, TAKEBACK_ANSWER_MS, null, (error) => {
        failure = error
      })
      if (hold === null) throw failure
      return hold
    },

    /**
     * Holds money, as much as is available, for a refund that a rail is about to be asked for. Its posting replaces the
     * hold; if there is none, the hold is released or expires. The same name is the same hold.
     */
    reserveRefund: (
      accountId: string,
      payment: { id: string; name: string },
      wantedPico: bigint,
      ledger: LedgerBalance,
    ) =>
      holdTakeback(
        accountId,
        { holdId: `${refundHolds(payment.id)}${payment.name}`, wantedPico, lifetimeMs: REFUND_LIFETIME_MS },
        ledger,
      ),

    async balance(accountId: string) {
      const [avail, held, version] = await readFields(accountId, 'avail', 'held', 'ver')
      return { availPico: amountOf(avail), heldPico: BigInt(held ?? '0'), version: amountOf(version) }
    },

    inspect: inspectAccount,

    async openHolds(accountId: string) {
      return readHolds(await reading(accountId, () => redisOf(accountId, redis).hgetall(recordOf(accountId))))
    },

    /** Which of some calls have an open hold. */
    async areHeld(accountId: string, callIds: readonly string[]) {
      return (await readFields(accountId, ...callIds)).map((hold) => hold !== null)
    },

    /**
     * Accounts that have open holds, or whose balance cache changed since maintenance compared it with the ledger: of one
     * shard, or of all.
     */
    async accounts(only?: number) {
      const found = new Set<string>()
      for (const shard of only === undefined ? shardNumbers(redis) : [only]) {
        for (let cursor = ''; cursor !== '0'; ) {
          const [next, some] = await redis
            .shard(shard)
            .sscan(listedAccounts(shard), cursor || '0', 'COUNT', LISTED_AT_ONCE)
          for (const accountId of some) found.add(accountId)
          cursor = next
        }
      }
      return [...found]
    },

    /**
     * Takes an account off this list, and lets its balance cache expire, if it has no open hold and nothing changed
     * since it was compared at this version.
     */
    async unlist(accountId: string, version: bigint | null) {
      const { record, absent } = accountKeys(accountId, redis)
      await unlist([record, listOf(accountId), absent], [accountId, String(version ?? ''), IDLE_KEPT_MS])
    },

    /** The versions of the balance caches of some accounts; without those that are not in Redis. */
    async versions(accountIds: readonly string[]) {
      const found = new Map<string, bigint>()
      await Promise.all(
        accountIds.map(async (accountId) => {
          const [version] = await readFields(accountId, 'ver')
          if (version != null) found.set(accountId, BigInt(version))
        }),
      )
      return found
    },

    /**
     * Sets the balance cache to the ledger's balance less the open holds. False if it has a newer balance; `force` is
     * for a ledger that went back to an older state.
     */
    async rebuild(accountId: string, { balancePico, version }: LedgerBalance, force: boolean) {
      const args = [String(balancePico), String(version), force ? '1' : '0']
      return (await rebuild(keysOf(accountId), args)) === 1
    },

    /** Lets the balance cache of a deleted account expire, and takes the account off the list. */
    async expireAccount(accountId: string) {
      const client = redisOf(accountId, redis)
      await reading(accountId, () => client.hdel(recordOf(accountId), 'listed'))
      await client.expire(recordOf(accountId), DELETED_KEPT_SECONDS)
      await client.srem(listOf(accountId), accountId)
    },

    /** Notifies every dispatch worker that PostgreSQL lost commits, so that it enqueues recent settlements again. */
    async noteLedgerLoss() {
      await redis.incr(LEDGER_LOSSES)
    },

    ...createAllowanceCache(redis),
  }
}

const isWrongType = (error: unknown): boolean => error instanceof Error && /WRONGTYPE/.test(error.message)

const amountOf = (text: string | null | undefined): bigint | null => (text == null ? null : BigInt(text))

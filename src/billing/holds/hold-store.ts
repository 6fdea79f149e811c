import { LRUCache } from 'lru-cache'
import { withTimeout } from '../../platform/process/with-timeout.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { RedisAwayError } from '../../platform/redis/redis-deadlines.ts'
import {
  accountKeys,
  admittedKey,
  apiKeyKeys,
  KNOWN_ACCOUNTS,
  LEDGER_LOSSES,
} from '../../platform/redis/redis-keys.ts'
import { createAdmission, defineHoldScript, parseHold } from './admission.ts'
import { createAllowanceCache } from './allowance-cache.ts'

/** From the last deadline of a call until a sweep may close its hold. */
export const HOLD_SLACK_MS = 60_000

/** An account's balance as the ledger has it after `version` transactions. */
export interface LedgerBalance {
  balancePico: bigint
  version: bigint
}

export interface ReleasedHold {
  callId: string
  /** What the ledger charged; the rest of the hold is given back. */
  chargePico: bigint
}

export interface EndedCall extends ReleasedHold {
  accountId: string
  keyId: string
}

/** What Redis has of one account; null amounts where it has nothing. */
export interface SpendableBalance {
  availPico: bigint | null
  heldPico: bigint
  version: bigint | null
}

/** The same, with the open holds counted and summed at one instant. */
export interface HoldSummary extends SpendableBalance {
  openHolds: number
  holdsPico: bigint
}

/** The hold of a call that runs or waits for its settlement, as a Redis that has lost it takes it again. */
export interface RestoredHold {
  callId: string
  accountId: string
  keyId: string
  amountPico: bigint
  /** Tokens. */
  completionLimit: number
  /** The budgets that it was taken from, see drawText. */
  draws: string
  /** When a sweep may close it, unix ms. */
  deadlineAt: number
  /** Whether the call takes a slot among the open calls of its key and account. */
  isOpen: boolean
}

/** A hold of money that is about to be taken back. */
export interface TakebackHold {
  holdId: string
  /** What was free, at most what was wanted. */
  amountPico: bigint
}

/** Older than every balance there is: it closes holds and changes nothing else. */
const NO_NEWS = { balancePico: 0n, version: 0n }
const LISTED_REMEMBERED = 10_000
/** Holds closed by one script: Lua takes some thousands of arguments. */
const RELEASED_AT_ONCE = 1_000
/** Far longer than a load takes. */
const LOADING_MS = 60_000
/** An account's row stays locked in PostgreSQL for no longer than this while Redis is asked to hold a takeback. */
const TAKEBACK_ANSWER_MS = 1_000
/** A call of a deleted account has ended by then. */
const DELETED_KEPT_SECONDS = 86_400
/** Longer than any transaction that takes money back. */
const TAKEBACK_LIFETIME_MS = 60_000
/** A refund whose rail did not answer is asked for again within this. */
const REFUND_LIFETIME_MS = 600_000
/** A sum of holds comes in two halves of nine digits and the rest. */
const HALF = 1_000_000_000n
/** How the ids of holds for takebacks begin; calls begin otherwise. */
const TAKEBACK_PREFIX = 'takeback_'

/** How the ids of holds for refunds of a payment begin. */
const refundHolds = (paymentId: string): string => `${TAKEBACK_PREFIX}${paymentId}-`

export const isTakebackHold = (holdId: string): boolean => holdId.startsWith(TAKEBACK_PREFIX)

/**
 * The balance cache in Redis: what each account may still spend, and what open calls hold of it. `avail = balance at
 * version − held` holds after every step. Admission opens holds; settlement, the sweep and repairs close them. Each
 * method can be repeated, and called in any order with the others. All of them reject while Redis is away.
 */
export type HoldStore = ReturnType<typeof createHoldStore>

/** The hold store over one Redis client. */
export function createHoldStore(redis: Redis) {
  const script = (name: string, file: string) => defineHoldScript(redis, name, new URL(file, import.meta.url))
  const applyScript = script('syApply', './apply.lua')
  const restore = script('syRestoreHold', './restore-hold.lua')
  const end = script('syEndCall', './end-call.lua')
  const reserve = script('syReserveTakeback', './reserve.lua')
  const inspect = script('syInspect', './inspect.lua')
  const rebuild = script('syRebuild', './rebuild.lua')
  const listed = new LRUCache<string, true>({ max: LISTED_REMEMBERED })

  const apply = async (
    accountId: string,
    ledger: LedgerBalance,
    released: readonly ReleasedHold[],
    load: string,
  ): Promise<SpendableBalance> => {
    if (released.length > RELEASED_AT_ONCE) {
      await apply(accountId, ledger, released.slice(RELEASED_AT_ONCE), load)
      return apply(accountId, ledger, released.slice(0, RELEASED_AT_ONCE), load)
    }
    const keys = accountKeys(accountId)
    // Known accounts are what sweeps and audits go through; listed before there is a balance cache, so that none is out
    // of their sight should we fail in between. Each process lists an account once.
    const wasListed = listed.has(accountId)
    if (!wasListed) {
      await redis.sadd(KNOWN_ACCOUNTS, accountId)
      listed.set(accountId, true)
    }
    const [avail, held, isNew] = (await applyScript(
      [keys.avail, keys.held, keys.holds, keys.expiry, keys.ver, keys.loading, keys.open],
      [
        keys.prefix,
        String(ledger.balancePico),
        String(ledger.version),
        load,
        ...released.flatMap((hold) => [hold.callId, String(hold.chargePico)]),
      ],
    )) as [string | null, string, number]
    // Redis lost its data since this process listed the account.
    if (isNew === 1 && wasListed) await redis.sadd(KNOWN_ACCOUNTS, accountId)
    return { availPico: amountOf(avail), heldPico: BigInt(held), version: ledger.version }
  }

  const holdTakeback = async (
    accountId: string,
    { holdId, wantedPico, lifetimeMs }: { holdId: string; wantedPico: bigint; lifetimeMs: number },
    ledger: LedgerBalance,
    replaced = '',
  ): Promise<TakebackHold> => {
    // A credit that was posted just now may not have reached the balance cache.
    await apply(accountId, ledger, [], '')
    const { avail, held, holds, expiry } = accountKeys(accountId)
    const amount = await reserve(
      [avail, held, holds, expiry],
      [holdId, String(wantedPico), lifetimeMs, String(ledger.balancePico), replaced],
    )
    return { holdId, amountPico: BigInt(String(amount)) }
  }

  return {
    /** Admits a call within all its limits, and holds what it may cost. */
    admit: createAdmission(redis),

    /**
     * Takes over a ledger balance unless a newer one is known, and closes the holds of settled calls. A balance cache
     * that Redis does not have stays unloaded.
     */
    apply: (accountId: string, ledger: LedgerBalance, released: readonly ReleasedHold[]) =>
      apply(accountId, ledger, released, ''),

    /** Closes a hold that may stand or not, and charges nothing. */
    async release(accountId: string, callId: string) {
      await apply(accountId, NO_NEWS, [{ callId, chargePico: 0n }], '')
    },

    /** Whether a call was admitted and enqueued in one step in the last MARK_MS. */
    wasEnqueued: async (callId: string) => (await redis.exists(admittedKey(callId))) === 1,

    /**
     * Loads the balance cache of an account on its first use, from a ledger balance less the open holds. False when the
     * balance cache has a newer balance than this one: read the ledger again. With an epoch, also false when
     * Redis lost its data since `announceLoad`.
     */
    async load(accountId: string, ledger: LedgerBalance, epoch = '*') {
      return (await apply(accountId, ledger, [], epoch)).availPico !== null
    },

    /** Marks that the balance cache of an account will be loaded within this epoch of Redis's data. */
    async announceLoad(accountId: string, epoch: string) {
      await redis.set(accountKeys(accountId).loading, epoch, 'PX', LOADING_MS)
    },

    /** Takes the hold of an admitted call again, after Redis lost it. False when it was there. */
    async restore({ callId, accountId, keyId, ...hold }: RestoredHold) {
      const keys = accountKeys(accountId)
      const { open } = apiKeyKeys(accountId, keyId)
      // Before the hold, which would otherwise be out of the sweep's sight should we die in between.
      const listing = redis.sadd(KNOWN_ACCOUNTS, accountId)
      const amount = String(hold.amountPico)
      const taken = await restore(
        [keys.avail, keys.held, keys.holds, keys.expiry, open, keys.open],
        [
          callId,
          amount,
          hold.completionLimit,
          keyId,
          hold.draws,
          hold.deadlineAt,
          hold.isOpen ? '1' : '0',
          keys.prefix,
        ],
      )
      await listing
      return taken === 1
    },

    /**
     * Frees the call's slots in the concurrency limits of its key and account, and shrinks its hold to the charge;
     * settlement closes it. For a call that no worker finishes (see src/calls/dispatch/finish-calls.ts).
     */
    async endCall({ accountId, keyId, callId, chargePico }: EndedCall) {
      const keys = accountKeys(accountId)
      const { open } = apiKeyKeys(accountId, keyId)
      await end(
        [keys.avail, keys.held, keys.holds, open, keys.open],
        [keys.prefix, callId, String(chargePico)],
      )
    },

    /**
     * Holds money that is about to be taken back, as much as is free. Taking it runs like a call: hold it here, post it
     * in PostgreSQL, close the hold. So it never takes what a running call holds, and no call is admitted on money that
     * is on its way out. The caller has locked the account's row, so `ledger` is the newest there is, and its version
     * names the hold: the same posting tried again, after a failure or a crash, takes the same hold. What is held for
     * refunds of the payment is part of what is free for it. Throws when Redis does not answer within a second, so that the
     * row is not locked for longer; what it holds then all the same is released by the sweep.
     */
    async reserveTakeback(accountId: string, wantedPico: bigint, ledger: LedgerBalance, paymentId?: string) {
      let failure: unknown = new RedisAwayError('does not answer within a second')
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
     * Holds money for a refund that a rail is about to be asked for, as much as is free. Its posting takes the hold over;
     * where none comes of it, the hold is released, or ends by itself. The same name is the same hold.
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
      const keys = accountKeys(accountId)
      const [avail, held, version] = await redis.mget(keys.avail, keys.held, keys.ver)
      return { availPico: amountOf(avail), heldPico: BigInt(held ?? '0'), version: amountOf(version) }
    },

    async inspect(accountId: string) {
      const { avail, held, holds, ver } = accountKeys(accountId)
      const [availText, heldText, version, openHolds, high, low] = (await inspect(
        [avail, held, holds, ver],
        [],
      )) as [string | null, string, string | null, number, string, string]
      return {
        availPico: amountOf(availText),
        heldPico: BigInt(heldText),
        version: amountOf(version),
        openHolds,
        holdsPico: BigInt(high) * HALF + BigInt(low),
      }
    },

    async openHolds(accountId: string) {
      const holds = await redis.hgetall(accountKeys(accountId).holds)
      return Object.entries(holds).map(([callId, hold]) => parseHold(callId, hold))
    },

    /** Ids of holds whose deadline has passed. */
    async expiredHolds(accountId: string, nowMs: number) {
      return redis.zrangebyscore(accountKeys(accountId).expiry, '-inf', nowMs)
    },

    /** Accounts whose balance Redis holds. */
    async accounts() {
      return redis.smembers(KNOWN_ACCOUNTS)
    },

    /**
     * Sets the balance cache to what the ledger and the open holds say. False when it has a newer balance by now; `force`
     * is for a ledger that went back to an older state.
     */
    async rebuild(accountId: string, { balancePico, version }: LedgerBalance, force: boolean) {
      const { avail, held, holds, ver } = accountKeys(accountId)
      const args = [String(balancePico), String(version), force ? '1' : '0']
      return (await rebuild([avail, held, holds, ver], args)) === 1
    },

    /** Lets the balance cache of an account that was deleted expire, and takes the account off the known ones. */
    async expireAccount(accountId: string) {
      const { avail, held, holds, expiry, ver } = accountKeys(accountId)
      await Promise.all(
        [avail, held, holds, expiry, ver].map((key) => redis.expire(key, DELETED_KEPT_SECONDS)),
      )
      await redis.srem(KNOWN_ACCOUNTS, accountId)
    },

    /** Tells every dispatch worker that PostgreSQL lost commits: it enqueues what was settled lately again. */
    async noteLedgerLoss() {
      await redis.incr(LEDGER_LOSSES)
    },

    ...createAllowanceCache(redis),
  }
}

const amountOf = (text: string | null | undefined): bigint | null => (text == null ? null : BigInt(text))

import { readFileSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import { allowancePeriod, LIMIT_RESETS } from '../../core/billing/allowance-period.ts'
import { defineScript, type Redis } from '../../platform/redis/redis.ts'
import { accountKeys, apiKeyKeys, KNOWN_ACCOUNTS } from '../../platform/redis/redis-keys.ts'

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

export interface OpenHold {
  callId: string
  amountPico: bigint
  keyId: string
}

/** What Redis knows of one account; null amounts where it knows nothing. */
export interface GateFigures {
  availPico: bigint | null
  heldPico: bigint
  version: bigint | null
}

const LISTED_REMEMBERED = 10_000
/** Far longer than a load takes. */
const LOADING_MS = 60_000

/** The hold of a call that runs or waits for its settlement, as it is told to a Redis that has lost it. */
export interface RestoredHold {
  callId: string
  accountId: string
  keyId: string
  amountPico: bigint
  /** Tokens. */
  completionLimit: number
  /** The period of its key's allowance, or null. */
  allowancePeriod: string | null
  /** When a sweep may look after it, unix ms. */
  deadlineAt: number
  /** Whether the call takes a slot among the open calls of its key and account. */
  isOpen: boolean
}

const APPLY = readFileSync(new URL('./apply.lua', import.meta.url), 'utf8')
const RESTORE = readFileSync(new URL('./restore-hold.lua', import.meta.url), 'utf8')
/** The Lua function `end_in_gate`, for scripts that end calls. */
export const END_IN_GATE = readFileSync(new URL('./end-in-gate.lua', import.meta.url), 'utf8')
const END_CALL = END_IN_GATE + readFileSync(new URL('./end-call.lua', import.meta.url), 'utf8')

/**
 * The gate in Redis: what each account may still spend. `avail = balance at version − held` holds after
 * every step. Admission takes holds (src/billing/holds/admit.lua); settlement and repair close them here. Each
 * method can be repeated, and called in any order with the others.
 */
export interface HoldGate {
  /**
   * Takes over a ledger balance unless a newer one is known, and closes the holds of settled calls. A gate
   * that Redis does not have stays unloaded.
   */
  apply(accountId: string, ledger: LedgerBalance, released: readonly ReleasedHold[]): Promise<GateFigures>
  /**
   * Loads the gate of an account on its first use, from a ledger balance less the open holds. False when the
   * gate knows of a newer balance than this one: read the ledger again. With an epoch, also false when
   * Redis lost its data since `announceLoad` was told of it.
   */
  load(accountId: string, ledger: LedgerBalance, epoch?: string): Promise<boolean>
  /** Says that the gate of an account will be loaded within this epoch of Redis's data. */
  announceLoad(accountId: string, epoch: string): Promise<void>
  /** Takes the hold of an admitted call again, after Redis lost it. False when it was there. */
  restore(hold: RestoredHold): Promise<boolean>
  /**
   * Frees the call's slots in the concurrency limits of its key and account, and shrinks its hold to the charge;
   * settlement closes it. For a call that no worker finishes (see src/calls/dispatch/finish-calls.ts).
   */
  endCall(call: EndedCall): Promise<void>
  /**
   * Lets a key's allowances be loaded anew: a call that was admitted then was charged after its hold had been
   * given back.
   */
  forgetAllowances(accountId: string, keyId: string, admittedAt: number): Promise<void>
  figures(accountId: string): Promise<GateFigures>
  openHolds(accountId: string): Promise<OpenHold[]>
  /** Ids of holds whose deadline has passed. */
  expiredHolds(accountId: string, nowMs: number): Promise<string[]>
  /** Accounts whose balance Redis holds. */
  accounts(): Promise<string[]>
}

/** The gate over one Redis client. */
export function createHoldGate(redis: Redis): HoldGate {
  const script = defineScript(redis, 'syApply', APPLY)
  const restore = defineScript(redis, 'syRestoreHold', RESTORE)
  const end = defineScript(redis, 'syEndCall', END_CALL)
  const listed = new LRUCache<string, true>({ max: LISTED_REMEMBERED })

  const apply = async (
    accountId: string,
    ledger: LedgerBalance,
    released: readonly ReleasedHold[],
    load: string,
  ): Promise<GateFigures> => {
    const keys = accountKeys(accountId)
    // Known accounts are what sweeps and audits go through; listed before there is a gate, so that none is out
    // of their sight should we fail in between. Each process says so once for itself.
    const wasListed = listed.has(accountId)
    if (!wasListed) {
      await redis.sadd(KNOWN_ACCOUNTS, accountId)
      listed.set(accountId, true)
    }
    const [avail, held, isNew] = (await script(
      [keys.avail, keys.held, keys.holds, keys.expiry, keys.ver, keys.loading, keys.open],
      [
        keys.apiKeys,
        String(ledger.balancePico),
        String(ledger.version),
        load,
        ...released.flatMap((hold) => [hold.callId, String(hold.chargePico)]),
      ],
    )) as [string | null, string, number]
    // Redis lost its data since this process listed the account.
    if (isNew === 1 && wasListed) await redis.sadd(KNOWN_ACCOUNTS, accountId)
    return {
      availPico: avail === null ? null : BigInt(avail),
      heldPico: BigInt(held),
      version: ledger.version,
    }
  }

  return {
    apply: (accountId, ledger, released) => apply(accountId, ledger, released, ''),

    async load(accountId, ledger, epoch = '*') {
      return (await apply(accountId, ledger, [], epoch)).availPico !== null
    },

    async announceLoad(accountId, epoch) {
      await redis.set(accountKeys(accountId).loading, epoch, 'PX', LOADING_MS)
    },

    async restore(hold) {
      const { callId, accountId, keyId } = hold
      const keys = accountKeys(accountId)
      const period = hold.allowancePeriod ?? ''
      const key = apiKeyKeys(accountId, keyId, period)
      // Before the hold, which would otherwise be out of the sweep's sight should we die in between.
      const listing = redis.sadd(KNOWN_ACCOUNTS, accountId)
      const taken = await restore(
        [keys.avail, keys.held, keys.holds, keys.expiry, key.open, key.left, keys.open],
        [
          callId,
          String(hold.amountPico),
          hold.completionLimit,
          keyId,
          period,
          hold.deadlineAt,
          hold.isOpen ? '1' : '0',
        ],
      )
      await listing
      return taken === 1
    },

    async endCall({ accountId, keyId, callId, chargePico }) {
      const keys = accountKeys(accountId)
      const { open } = apiKeyKeys(accountId, keyId, '')
      await end(
        [keys.avail, keys.held, keys.holds, open, keys.open],
        [keys.apiKeys, callId, String(chargePico)],
      )
    },

    async forgetAllowances(accountId, keyId, admittedAt) {
      const periods = LIMIT_RESETS.map((reset) => allowancePeriod(reset, admittedAt))
      await redis.del(...periods.map(({ id }) => apiKeyKeys(accountId, keyId, id).left))
    },

    async figures(accountId) {
      const keys = accountKeys(accountId)
      const [avail, held, version] = await redis.mget(keys.avail, keys.held, keys.ver)
      return {
        availPico: avail == null ? null : BigInt(avail),
        heldPico: BigInt(held ?? '0'),
        version: version == null ? null : BigInt(version),
      }
    },

    async openHolds(accountId) {
      const holds = await redis.hgetall(accountKeys(accountId).holds)
      return Object.entries(holds).map(([callId, hold]) => {
        const [amount, , keyId] = hold.split(':')
        if (amount === undefined || keyId === undefined) throw new Error(`malformed hold ${callId}`)
        return { callId, amountPico: BigInt(amount), keyId }
      })
    },

    async expiredHolds(accountId, nowMs) {
      return redis.zrangebyscore(accountKeys(accountId).expiry, '-inf', nowMs)
    },

    async accounts() {
      return redis.smembers(KNOWN_ACCOUNTS)
    },
  }
}

import { readFileSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import { defineScript, type Redis } from '../platform/redis.ts'
import { accountKeys, apiKeyKeys, KNOWN_ACCOUNTS } from '../platform/redis-keys.ts'

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

const APPLY = readFileSync(new URL('./apply.lua', import.meta.url), 'utf8')

/**
 * The gate in Redis: what each account may still spend. `avail = balance at version − held` holds after
 * every step. Admission takes holds (src/admission/admit.lua); settlement and repair close them here.
 */
export interface HoldGate {
  /** Takes over a ledger balance unless a newer one is known, and closes the holds of settled calls. */
  apply(accountId: string, ledger: LedgerBalance, released: readonly ReleasedHold[]): Promise<GateFigures>
  /** Frees the call's place in its key's concurrency limit; the hold stays until settlement. */
  endCall(accountId: string, keyId: string, callId: string): Promise<void>
  figures(accountId: string): Promise<GateFigures>
  openHolds(accountId: string): Promise<OpenHold[]>
  /** Ids of holds whose deadline has passed. */
  expiredHolds(accountId: string, nowMs: number): Promise<string[]>
  /** Accounts whose balance Redis holds. */
  accounts(): Promise<string[]>
}

/** The gate over one Redis client. */
export function createHoldGate(redis: Redis): HoldGate {
  const apply = defineScript(redis, 'syApply', APPLY)
  const listed = new LRUCache<string, true>({ max: LISTED_REMEMBERED })
  return {
    async apply(accountId, ledger, released) {
      const keys = accountKeys(accountId)
      const [avail, held, isNew] = (await apply(
        [keys.avail, keys.held, keys.holds, keys.expiry, keys.ver],
        [
          keys.apiKeys,
          String(ledger.balancePico),
          String(ledger.version),
          ...released.flatMap((hold) => [hold.callId, String(hold.chargePico)]),
        ],
      )) as [string, string, number]
      // Known accounts are what sweeps and audits go through; written after, so that a known account has a gate.
      // Each process says so once for itself: another may have died right before it did.
      if (isNew === 1 || !listed.has(accountId)) {
        await redis.sadd(KNOWN_ACCOUNTS, accountId)
        listed.set(accountId, true)
      }
      return { availPico: BigInt(avail), heldPico: BigInt(held), version: ledger.version }
    },

    async endCall(accountId, keyId, callId) {
      await redis.zrem(apiKeyKeys(accountId, keyId, '').open, callId)
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

import { readFileSync } from 'node:fs'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { defineScript, type Redis } from '../../platform/redis/redis.ts'
import { accountKeys } from '../../platform/redis/redis-keys.ts'
import { createBalanceStore } from '../ledger/balance-store.ts'
import type { HoldGate, LedgerBalance } from './hold-gate.ts'

const RESERVE = readFileSync(new URL('./reserve.lua', import.meta.url), 'utf8')

/** Longer than any transaction that such a hold is taken for. */
const HOLD_LIFETIME_MS = 60_000

/** How the ids of these holds begin; calls begin otherwise. */
const PREFIX = 'takeback_'

export const isTakebackHold = (holdId: string): boolean => holdId.startsWith(PREFIX)

export interface TakebackHold {
  holdId: string
  /** What was free, at most what was wanted. */
  amountPico: bigint
}

/** Holds money of an account that is about to be taken back. */
export type ReserveTakeback = (
  accountId: string,
  wantedPico: bigint,
  ledger: LedgerBalance,
) => Promise<TakebackHold>

/**
 * Taking money back runs like a call: hold it in Redis, post it in PostgreSQL, close the hold. So it can never
 * take what a running call holds, and no call can be admitted on money that is on its way out. The caller has
 * locked the account's row, so `ledger` is the newest there is, and its version names the hold: the same posting
 * tried again, after a failure or a crash, takes the same hold.
 */
export function createReserveTakeback(redis: Redis, gate: HoldGate, clock: () => number): ReserveTakeback {
  const reserve = defineScript(redis, 'syReserveTakeback', RESERVE)
  return async (accountId, wantedPico, ledger) => {
    // A credit that was posted just now may not have reached the gate.
    await gate.apply(accountId, ledger, [])
    const holdId = `${PREFIX}${ledger.version}`
    const { avail, held, holds, expiry } = accountKeys(accountId)
    const amount = await reserve(
      [avail, held, holds, expiry],
      [holdId, String(wantedPico), clock() + HOLD_LIFETIME_MS, String(ledger.balancePico)],
    )
    return { holdId, amountPico: BigInt(String(amount)) }
  }
}

/** Gives back what was held to be taken from an account by attempts that died; none of them can go on. */
export async function releaseTakebacks(
  accountId: string,
  holdIds: readonly string[],
  { gate, postgres }: { gate: HoldGate; postgres: Postgres },
): Promise<void> {
  if (holdIds.length === 0) return
  const ledger = (await createBalanceStore(postgres).balances([accountId])).get(accountId)
  if (!ledger) return
  const released = holdIds.map((callId) => ({ callId, chargePico: 0n }))
  await gate.apply(accountId, ledger, released)
}

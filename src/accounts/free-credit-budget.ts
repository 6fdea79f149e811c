import { readFileSync } from 'node:fs'
import type { PicoUsd } from '../core/kernel/money.ts'
import { clientNetworks } from '../platform/network/client-networks.ts'
import { defineScript, type Redis } from '../platform/redis/redis.ts'
import { freeCreditBudgetKey, freeCreditNetworkKey } from '../platform/redis/redis-keys.ts'

const SCRIPT = readFileSync(new URL('./reserve-free-credit.lua', import.meta.url), 'utf8')
const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

export interface FreeCreditLimits {
  /** Of the whole gateway, per clock hour (UTC). */
  budgetPico: PicoUsd
  /** Credits a day (UTC) for an IPv4 address or an IPv6 /64, and for an IPv6 /48. */
  freeCreditsPerAddress: number
  freeCreditsPerSite: number
}

export type FreeCreditReservation = 'reserved' | 'network_used' | 'budget_used'

/**
 * Limits the free credit that the gateway gives: an amount per hour in total, and a number per day and network.
 * Counted in Redis for the whole fleet. Reservations are never returned, so that the limit holds even
 * if a posting fails halfway. Rejects if Redis is unavailable.
 */
export type FreeCreditBudget = ReturnType<typeof createFreeCreditBudget>

export function createFreeCreditBudget(redis: Redis, limits: FreeCreditLimits, clock: () => number) {
  const reserve = defineScript(redis, 'syReserveFreeCredit', SCRIPT)
  return {
    async reserve(networkAddress: string, amountPico: PicoUsd): Promise<FreeCreditReservation> {
      const seconds = Math.floor(clock() / 1_000)
      const day = Math.floor(seconds / DAY_SECONDS)
      const { subnet, site } = clientNetworks(networkAddress)
      const keys = [
        freeCreditBudgetKey(Math.floor(seconds / HOUR_SECONDS)),
        freeCreditNetworkKey(day, subnet),
        ...(site === null ? [] : [freeCreditNetworkKey(day, site)]),
      ]
      return reserve(keys, [
        String(amountPico),
        String(limits.budgetPico),
        HOUR_SECONDS * 2,
        DAY_SECONDS * 2,
        limits.freeCreditsPerAddress,
        ...(site === null ? [] : [limits.freeCreditsPerSite]),
      ]) as Promise<FreeCreditReservation>
    },
  }
}

import type { SettlementRecord } from '../calls/call-job.ts'
import { parseUsd } from '../kernel/money.ts'

/** The providers' cost of attempts of one call that no client pays, pico-USD. */
interface UnchargedCost {
  unchargedPico: bigint
  /** The part that the client caused. */
  causedPico: bigint
}

/**
 * Results of attempts that their client caused: the prompt asked for more than the call had time for, or the files of the
 * account's calls in flight left no space for the response. A cancelled attempt counts only if the
 * whole call was cancelled; otherwise the gateway ended it. Failures of a provider (empty, silent, stalled, broken) do
 * not count; an account's own breakers bound them.
 */
const CAUSED_BY_CLIENT: ReadonlySet<string> = new Set(['call-timeout', 'account-full'])

/** Sums the cost of a call's attempts beyond its charge. */
export function unchargedCost({ attempts, status }: SettlementRecord): UnchargedCost {
  let [unchargedPico, causedPico] = [0n, 0n]
  for (const { spent, outcome } of attempts) {
    if (!spent) continue
    const cost = BigInt(spent.costPico)
    unchargedPico += cost
    const isClients = outcome === 'cancelled' ? status === 'cancelled' : CAUSED_BY_CLIENT.has(outcome)
    if (isClients) causedPico += cost
  }
  return { unchargedPico, causedPico }
}

export interface UnchargedCostLimits {
  /** Percentage of its charges. */
  percent: number
  /** Amount beyond the percentage, pico-USD, so that one call does not affect a new account. */
  floorPico: bigint
}

export const UNCHARGED_COST_LIMITS: UnchargedCostLimits = { percent: 25, floorPico: parseUsd('1.00') }

/** Number of days compared: today and the days before. */
export const UNCHARGED_COST_DAYS = 7
/** Multiple of the limit that suspends an account; above the limit it is slowed. */
export const STOP_FACTOR = 2n
/** Request limit of a slowed account, over all its keys. */
export const SLOWED_REQUESTS_PER_MINUTE = 6

/** Decides whether an account with these charges and this uncharged cost is slowed or suspended. */
export function unchargedCostStanding(
  { chargedPico, causedPico }: { chargedPico: bigint; causedPico: bigint },
  { percent, floorPico }: UnchargedCostLimits,
): 'normal' | 'slowed' | 'stopped' {
  const allowed = floorPico + (chargedPico * BigInt(percent)) / 100n
  if (causedPico > STOP_FACTOR * allowed) return 'stopped'
  return causedPico > allowed ? 'slowed' : 'normal'
}

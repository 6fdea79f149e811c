import type { SettlementRecord } from '../calls/call-job.ts'
import { parseUsd } from '../kernel/money.ts'

/** What providers bill for attempts of one call that no client pays, pico-USD. */
interface UnchargedCost {
  unchargedPico: bigint
  /** Of that, what the client caused. */
  causedPico: bigint
}

/**
 * How attempts end by what their client did: its prompt asked for nothing, or for more than the whole call had time for, or
 * the files of its calls in flight left no room for the answer. One
 * that was cancelled is the client's doing only where the call ended as cancelled: otherwise the gateway gave it up.
 * What fails at a provider (silent, stalled, broken) is the provider's, and an account's own breakers bound it.
 */
const CAUSED_BY_CLIENT: ReadonlySet<string> = new Set(['empty-answer', 'call-timeout', 'account-full'])

/** Sums what the attempts of a call cost us beside what it was charged for. */
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

/** How much an account may cost that nobody pays. */
export interface UnchargedCostLimits {
  /** Of what it was charged. */
  percent: number
  /** Beside that, pico-USD: new accounts are not hit by one call. */
  floorPico: bigint
}

/** The limits as configured. */
export const unchargedCostLimits = (config: {
  unchargedCostPercent: number
  unchargedCostFloorUsd: string
}): UnchargedCostLimits => ({
  percent: config.unchargedCostPercent,
  floorPico: parseUsd(config.unchargedCostFloorUsd),
})

/** Days of which costs and charges are compared: today and those before. */
export const UNCHARGED_COST_DAYS = 7
/** So many times what is allowed stops an account; once, it is slowed. */
export const STOP_FACTOR = 2n
/** What a slowed account may still send, over all its keys. */
export const SLOWED_REQUESTS_PER_MINUTE = 6

/** What becomes of an account that caused so much that nobody pays, and was charged so much. */
export function unchargedCostStanding(
  { chargedPico, causedPico }: { chargedPico: bigint; causedPico: bigint },
  { percent, floorPico }: UnchargedCostLimits,
): 'normal' | 'slowed' | 'stopped' {
  const allowed = floorPico + (chargedPico * BigInt(percent)) / 100n
  if (causedPico > STOP_FACTOR * allowed) return 'stopped'
  return causedPico > allowed ? 'slowed' : 'normal'
}

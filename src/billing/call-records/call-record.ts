import type { AttemptRecord } from '../../core/calls/call-job.ts'
import type { CallLabels } from '../../core/calls/call-labels.ts'
import type { TokenRates } from '../../core/catalog/catalog.ts'
import { PRICE_KINDS } from '../../core/catalog/token-rates.ts'
import type { CallRecord as CallRow } from '../../platform/prisma-client/client.ts'

/** A settled call without its attempts, which name its targets. Amounts in pico-USD, times in unix milliseconds. */
export type ListedCall = Omit<CallRow, 'attempts' | 'labels' | `${string}AtMs`> & {
  labels: CallLabels | null
  admittedAt: number
  claimedAt: number | null
  firstTokenAt: number | null
  finishedAt: number
  settledAt: number
}

export type CallRecord = ListedCall & { attempts: AttemptRecord[] }

/** Converts a whole row of call_records. */
export function toRecord({ attempts, ...row }: CallRow): CallRecord {
  // Only the settlement store writes these rows, from records of this shape.
  return { ...toListedCall(row), attempts: attempts as unknown as AttemptRecord[] }
}

/** Converts a row of call_records, with its times as numbers. */
export function toListedCall({
  admittedAtMs,
  claimedAtMs,
  firstTokenAtMs,
  finishedAtMs,
  settledAtMs,
  labels,
  ...row
}: Omit<CallRow, 'attempts'>): ListedCall {
  return {
    ...row,
    labels: labels as CallLabels | null,
    admittedAt: Number(admittedAtMs),
    claimedAt: claimedAtMs === null ? null : Number(claimedAtMs),
    firstTokenAt: firstTokenAtMs === null ? null : Number(firstTokenAtMs),
    finishedAt: Number(finishedAtMs),
    settledAt: Number(settledAtMs),
  }
}

/** The rates a call was charged at; null if nothing served it. */
export const ratesOf = (call: ListedCall) => pricesOf(call, 'Rate')

/** The provider's price of a call; null if nothing served it. */
export const costRatesOf = (call: ListedCall) => pricesOf(call, 'Cost')

function pricesOf(call: ListedCall, of: 'Rate' | 'Cost'): TokenRates | null {
  const stored = PRICE_KINDS.map((kind) => [kind, call[`${kind}${of}Pico`]] as const)
  const known = new Map(stored.filter(([, price]) => price !== null))
  return known.has('prompt') && known.has('completion')
    ? (Object.fromEntries(known) as unknown as TokenRates)
    : null
}

/** The clocks of two machines may differ, so durations are clamped to zero. */
const sinceAdmission = (call: ListedCall, unixMs: number): number => Math.max(0, unixMs - call.admittedAt)

/** Durations since admission, as shown in JSON; null where the call ended earlier. */
export const callTimes = (call: ListedCall) => ({
  queued_ms: call.claimedAt === null ? null : sinceAdmission(call, call.claimedAt),
  first_token_ms: call.firstTokenAt === null ? null : sinceAdmission(call, call.firstTokenAt),
  duration_ms: sinceAdmission(call, call.finishedAt),
})

import {
  AttemptView,
  type CallOwner,
  OperatorCall,
  type SettledTimeline,
  type TimelineEvent,
} from '../../core/api/calls.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { costOf } from '../../core/billing/pricing.ts'
import type { AttemptRecord } from '../../core/calls/call-job.ts'
import type { TokenRates } from '../../core/catalog/catalog.ts'
import { PRICE_KINDS, PRICE_NAMES, type PriceName } from '../../core/catalog/token-rates.ts'
import { formatRate, formatUsd } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { type CallRecord, callTimes, costRatesOf, type ListedCall, ratesOf } from './call-record.ts'

/** A settled call for operators: with its target, its cost and the margin, without the names of its owner. */
export function operatorCall(call: ListedCall): Omit<OperatorCall, keyof CallOwner> {
  const costPico = providerCost(call)
  return jsonView(OperatorCall, {
    ...call,
    ...callTimes(call),
    servedModel: call.servedModelId,
    servedOffer: call.servedOfferId,
    heldPico: call.holdPico,
    chargedPico: call.chargePico,
    costPico,
    marginPico: call.chargePico - costPico,
    admittedAt: new Date(call.admittedAt),
    settlementLagMs: Math.max(0, call.settledAt - call.finishedAt),
  })
}

/** A settled call with all its events in order. */
export function settledTimeline(record: CallRecord): Omit<SettledTimeline, keyof CallOwner> {
  return {
    object: 'call_timeline',
    state: 'settled',
    ...operatorCall(record),
    labels: record.labels,
    usage_source: record.usageSource,
    usage_clamped: record.usageClamped,
    ...rateViews('rate', ratesOf(record)),
    ...rateViews('cost_rate', costRatesOf(record)),
    rate_version: record.rateVersion,
    attempts: record.attempts.map(attemptView),
    timeline: timelineOf(record.admittedAt, settledEvents(record)),
  }
}

/** An attempt with everything that its record has. */
export const attemptView = (attempt: AttemptRecord): AttemptView =>
  jsonView(AttemptView, {
    ...attempt,
    offer: attempt.offerId,
    providerMessage: attempt.providerMessage ?? null,
    startedAt: isoTime(attempt.startedAt),
    rescued: attempt.rescued === true,
    providerKeyId: attempt.providerKeyId ?? null,
  })

/** An event of a call; `at` in unix ms, null if it did not happen. */
export interface CallEvent {
  at: number | null
  kind: TimelineEvent['kind']
  event: string
}

/** The events that happened, in order. */
export function timelineOf(admittedAt: number, events: readonly CallEvent[]): TimelineEvent[] {
  return events
    .flatMap(({ at, ...event }) => (at === null ? [] : [{ at, ...event }]))
    .sort((one, other) => one.at - other.at)
    .map(({ at, kind, event }) => ({ at: isoTime(at), after_ms: at - admittedAt, kind, event }))
}

function settledEvents(record: CallRecord): CallEvent[] {
  return [
    { at: record.admittedAt, kind: 'admitted', event: `admitted, ${formatUsd(record.holdPico)} USD held` },
    { at: record.claimedAt, kind: 'claimed', event: 'claimed by a worker' },
    ...record.attempts.flatMap((attempt): CallEvent[] => {
      const { offerId, startedAt, durationMs, outcome, httpStatus, providerKeyId, rescued } = attempt
      const { providerMessage: said, platformKeyId } = attempt
      const status = httpStatus === null ? '' : ` (HTTP ${httpStatus})`
      const outcomeText = `${status}${said === undefined ? '' : `: "${said}"`}`
      const ourKey = platformKeyId === undefined ? '' : ` with key ${platformKeyId}`
      const usedKey = providerKeyId === undefined ? ourKey : ` on the client's BYOK key ${providerKeyId}`
      return [
        { at: startedAt, kind: 'attempt', event: `attempt at ${offerId}${usedKey}` },
        {
          at: startedAt + durationMs,
          kind: 'attempt_ended',
          event: `attempt at ${offerId}${usedKey}: ${outcome}${outcomeText}${rescued ? ', rescued the completion' : ''}`,
        },
      ]
    }),
    { at: record.firstTokenAt, kind: 'first_token', event: 'first token' },
    { at: record.finishedAt, kind: 'finished', event: `finished: ${record.status}` },
    { at: record.settledAt, kind: 'settled', event: `settled, ${formatUsd(record.chargePico)} USD charged` },
  ]
}

/** Tokens at the cost rates of the call, pico-USD. On a BYOK key those are zero. */
function providerCost(call: ListedCall): bigint {
  const rates = costRatesOf(call)
  return rates === null ? 0n : costOf(call, rates)
}

/** The rates of a call, each as `<kind>_<of>`; null where it has none. */
const rateViews = <Of extends string>(of: Of, rates: TokenRates | null) =>
  Object.fromEntries(
    PRICE_KINDS.map((kind) => {
      const price = rates?.[kind]
      return [`${PRICE_NAMES[kind]}_${of}`, price === undefined ? null : formatRate(price)]
    }),
  ) as Record<`${PriceName}_${Of}`, string | null>

import type { CallEnvelope, CallStatus, Candidate, ServedBy, SettlementRecord } from '../calls/call-job.ts'
import { type CallOutcome, NOTHING_USED } from '../calls/call-outcome.ts'
import { laneOf } from '../calls/fair-queue.ts'
import type { CatalogSnapshot } from '../catalog/catalog.ts'
import { rateTexts, readRates } from '../catalog/token-rates.ts'
import type { ErrorCode } from '../kernel/errors.ts'
import { type CallId, callCreatedAt } from '../kernel/ids.ts'
import { costOf } from './pricing.ts'
import { atServedTier, ratesAt, servedPercent } from './service-tier.ts'

const NOTHING_SERVED = {
  ...NOTHING_USED,
  finishReason: null,
  served: null,
  chargePico: '0',
  claimedAt: null,
  firstTokenAt: null,
} as const satisfies Partial<SettlementRecord>

/** The settlement of a call that a worker ran: its exact cost at the rate it was held at, never above the hold. */
export function settlementOf(
  outcome: CallOutcome,
  envelope: CallEnvelope,
  catalog: CatalogSnapshot,
  times: { claimedAt: number; finishedAt: number },
): SettlementRecord {
  const { status, attempts, firstTokenAt } = outcome
  const counted = status === 'failed' ? NOTHING_SERVED : outcome
  const { usage, usageSource, usageClamped } = counted
  const tier = 'tier' in outcome ? outcome.tier : undefined
  const served = counted.served && atServedTier(counted.served, tier)
  const cost = served ? costOf(usage, readRates(served.rate)) : 0n
  const hold = BigInt(envelope.holdPico)
  return {
    id: envelope.id,
    accountId: envelope.accountId,
    keyId: envelope.keyId,
    requestId: envelope.requestId,
    status,
    errorCode: 'error' in outcome ? outcome.error.code : null,
    finishReason: finishReasonOf(outcome),
    requestedModel: served?.requestedModel ?? envelope.requestedModel,
    stream: envelope.stream,
    served: served && servedBy(served, (status !== 'failed' && outcome.rescuedBy) || served, catalog, tier),
    usage,
    usageSource,
    usageClamped,
    // Usage is clamped to what was held for, so this bound never applies; it is the last line of defence.
    chargePico: String(cost < hold ? cost : hold),
    holdPico: envelope.holdPico,
    ...(envelope.leastCallPico !== undefined && { leastCallPico: envelope.leastCallPico }),
    attempts,
    ...(outcome.isUnanswered && { isUnanswered: true as const }),
    ...(envelope.auto && { auto: envelope.auto }),
    ...(envelope.traceparent !== undefined && { traceparent: envelope.traceparent }),
    ...(envelope.labels && { labels: envelope.labels }),
    ...(laneOf(envelope.candidates) === 'flex' && { lane: 'flex' as const }),
    admittedAt: envelope.admittedAt,
    firstTokenAt,
    ...times,
  }
}

function finishReasonOf(outcome: CallOutcome): string | null {
  switch (outcome.status) {
    case 'completed':
      return outcome.finishReason
    case 'interrupted':
      return 'error'
    case 'cancelled':
    case 'failed':
      return null
    default:
      return outcome satisfies never
  }
}

/**
 * The settlement of a call that no worker served: it releases the hold and charges nothing. `deliveredTokens` is what its
 * caller had of a completion before it received an error; should a worker charge more for the call, the rest is credited.
 */
export function unservedSettlement(
  envelope: Pick<
    CallEnvelope,
    | 'id'
    | 'accountId'
    | 'keyId'
    | 'requestId'
    | 'requestedModel'
    | 'stream'
    | 'holdPico'
    | 'labels'
    | 'admittedAt'
  >,
  status: CallStatus,
  errorCode: ErrorCode | null,
  finishedAt: number,
  deliveredTokens = 0,
): SettlementRecord {
  const { id, accountId, keyId, requestId, requestedModel, stream, holdPico, labels, admittedAt } = envelope
  return {
    ...NOTHING_SERVED,
    usage: { promptTokens: 0, completionTokens: deliveredTokens },
    id,
    accountId,
    keyId,
    requestId,
    requestedModel,
    stream,
    status,
    errorCode: status === 'cancelled' ? null : errorCode,
    holdPico,
    attempts: [],
    ...(labels && { labels }),
    admittedAt,
    finishedAt,
  }
}

/** The settlement of a call of which only the hold is left. */
export function lostSettlement(
  accountId: string,
  hold: { callId: string; keyId: string; amountPico: bigint },
  finishedAt: number,
): SettlementRecord {
  return {
    ...NOTHING_SERVED,
    id: hold.callId as CallId,
    accountId,
    keyId: hold.keyId,
    requestId: hold.callId,
    requestedModel: 'unknown',
    stream: false,
    status: 'failed',
    errorCode: 'internal_error',
    holdPico: String(hold.amountPico),
    attempts: [],
    admittedAt: callCreatedAt(hold.callId) ?? finishedAt,
    finishedAt,
  }
}

/** Charged as the one, at the cost of the other that finished the completion. */
function servedBy(
  charged: Candidate,
  finishing: Candidate,
  catalog: CatalogSnapshot,
  tier: string | undefined,
): ServedBy {
  const { offerId, providerKeyId } = finishing
  const { modelId, rate, rateVersion, units } = charged
  // On the client's BYOK key the provider bills its client.
  const cost = providerKeyId === undefined ? catalog.offers.get(offerId)?.cost : undefined
  return {
    offerId,
    modelId,
    rate,
    rateVersion,
    // An offer that left the catalog while the call ran has no cost of ours to note.
    cost: cost ? rateTexts(ratesAt(cost, servedPercent(finishing, tier))) : { prompt: '0', completion: '0' },
    ...(units && { unit: units.kind }),
    ...(providerKeyId !== undefined && { providerKeyId }),
  }
}

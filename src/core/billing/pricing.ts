import type {
  AttemptRecord,
  CallEnvelope,
  CallStatus,
  Candidate,
  ServedBy,
  SettlementRecord,
} from '../calls/call-job.ts'
import type { PromptBound, Usage } from '../calls/usage.ts'
import type { CatalogSnapshot, TokenRates } from '../catalog/catalog.ts'
import { dearestPromptRate, mediaRate, rateOf, rateTexts, readRates } from '../catalog/token-rates.ts'
import type { ErrorCode } from '../kernel/errors.ts'
import { type CallId, callCreatedAt } from '../kernel/ids.ts'
import { type PicoUsd, picoUsd } from '../kernel/money.ts'

/**
 * The cost of a call, exactly: prompt_tokens × prompt_rate + completion_tokens × completion_rate, where audio, image
 * and cache tokens of the prompt have a rate of their own if the model has one for them, and units if it has any.
 * Source: specification 1.5; with rates in pico-USD per token the division by 1,000,000 vanishes.
 */
export function costOf(usage: Usage, rate: TokenRates): PicoUsd {
  const audio = BigInt(usage.audioTokens ?? 0)
  const image = BigInt(usage.imageTokens ?? 0)
  const cached = BigInt(usage.cachedTokens ?? 0)
  const written = BigInt(usage.cacheWriteTokens ?? 0)
  const rest = BigInt(usage.promptTokens) - audio - image - cached - written
  return picoUsd(
    rest * rate.prompt +
      audio * mediaRate(rate, 'audio') +
      image * mediaRate(rate, 'image') +
      cached * rateOf(rate, 'cacheRead') +
      written * rateOf(rate, 'cacheWrite') +
      BigInt(usage.completionTokens) * rate.completion +
      BigInt(usage.units ?? 0) * rateOf(rate, 'units'),
  )
}

/**
 * The most that a prompt can cost: all of it at the dearest of the prompt and cache rates, its units, and what audio and
 * images may cost beyond that. The bounds of audio and images may together be more than that of the prompt.
 */
export function mostPromptCost(bound: PromptBound, rate: TokenRates): PicoUsd {
  const dearest = dearestPromptRate(rate)
  const beyond = (tokens: number, price: bigint) =>
    price > dearest ? BigInt(tokens) * (price - dearest) : 0n
  return picoUsd(
    BigInt(bound.promptTokens) * dearest +
      BigInt(bound.units ?? 0) * rateOf(rate, 'units') +
      beyond(bound.audioTokens, mediaRate(rate, 'audio')) +
      beyond(bound.imageTokens, mediaRate(rate, 'image')),
  )
}

/** What the settlement of a call depends on, once it has ended. */
export interface CallEnd {
  status: CallStatus
  errorCode: ErrorCode | null
  finishReason: string | null
  /** Whose rates are charged. */
  served: Candidate | null
  /** The candidate of another model that finished what `served` had started; absent otherwise. */
  rescuedBy?: Candidate
  usage: Usage
  usageSource: SettlementRecord['usageSource']
  usageClamped: boolean
  attempts: AttemptRecord[]
  firstTokenAt: number | null
}

/** Of a call that is charged nothing. */
export const NOTHING_USED = {
  usage: { promptTokens: 0, completionTokens: 0 },
  usageSource: 'none',
  usageClamped: false,
} as const satisfies Partial<SettlementRecord>

const NOTHING_SERVED = {
  ...NOTHING_USED,
  finishReason: null,
  served: null,
  chargePico: '0',
  claimedAt: null,
  firstTokenAt: null,
} as const satisfies Partial<SettlementRecord>

/** The settlement of one call: its exact cost at the rate it was held at, never above the hold. */
export function settlementOf(
  envelope: CallEnvelope,
  end: CallEnd,
  catalog: CatalogSnapshot,
  times: { claimedAt: number; finishedAt: number },
): SettlementRecord {
  const { served } = end
  const cost = served ? costOf(end.usage, readRates(served.rate)) : 0n
  const hold = BigInt(envelope.holdPico)
  return {
    id: envelope.id,
    accountId: envelope.accountId,
    keyId: envelope.keyId,
    requestId: envelope.requestId,
    status: end.status,
    errorCode: end.errorCode,
    finishReason: end.finishReason,
    requestedModel: served?.requestedModel ?? envelope.requestedModel,
    stream: envelope.stream,
    served: served && servedBy(served, end.rescuedBy ?? served, catalog),
    usage: end.usage,
    usageSource: end.usageSource,
    usageClamped: end.usageClamped,
    // Usage is clamped to what was held for, so this bound never bites; it is the last line of defence.
    chargePico: String(cost < hold ? cost : hold),
    holdPico: envelope.holdPico,
    ...(envelope.leastCallPico !== undefined && { leastCallPico: envelope.leastCallPico }),
    attempts: end.attempts,
    ...(envelope.auto && { auto: envelope.auto }),
    ...(envelope.traceparent !== undefined && { traceparent: envelope.traceparent }),
    ...(envelope.labels && { labels: envelope.labels }),
    admittedAt: envelope.admittedAt,
    firstTokenAt: end.firstTokenAt,
    ...times,
  }
}

/**
 * The settlement of a call that no worker served: it releases the hold and charges nothing. `deliveredTokens` is what its
 * caller had of an answer before it was told a failure; should a worker charge more for the call, the rest is credited.
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
  errorCode: ErrorCode,
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

/** Charged as the one, at the cost of the other that finished the answer. */
function servedBy(
  charged: Candidate,
  { offerId, providerKeyId }: Candidate,
  catalog: CatalogSnapshot,
): ServedBy {
  const { modelId, rate, rateVersion, units } = charged
  // On the client's BYOK key the provider bills its client.
  const cost = providerKeyId === undefined ? catalog.offers.get(offerId)?.cost : undefined
  return {
    offerId,
    modelId,
    rate,
    rateVersion,
    // An offer that left the catalog while the call ran has no cost of ours to note.
    cost: cost ? rateTexts(cost) : { prompt: '0', completion: '0' },
    ...(units && { unit: units.kind }),
    ...(providerKeyId !== undefined && { providerKeyId }),
  }
}

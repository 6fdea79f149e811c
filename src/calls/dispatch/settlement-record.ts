import { costOf, type Usage } from '../../core/billing/pricing.ts'
import type {
  AttemptRecord,
  CallEnvelope,
  Candidate,
  ServedBy,
  SettlementRecord,
} from '../../core/calls/call-job.ts'
import type { CallStatus } from '../../core/calls/call-status.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { rateTexts, readRates } from '../../core/catalog/token-rates.ts'
import type { ErrorCode } from '../../core/kernel/errors.ts'

/** What the settlement of a call depends on, once it has ended. */
export interface CallEnd {
  status: CallStatus
  errorCode: ErrorCode | null
  finishReason: string | null
  /** Whose rates are charged. */
  served: Candidate | null
  /** Of another model, which finished what the one that served had begun; absent otherwise. */
  rescuedBy?: Candidate
  usage: Usage
  usageSource: SettlementRecord['usageSource']
  usageClamped: boolean
  attempts: AttemptRecord[]
  firstTokenAt: number | null
}

export const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0 }

/** The settlement of one call: its exact cost at the rate it was held at, never above the hold. */
export function settlementRecord(
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
    admittedAt: envelope.admittedAt,
    firstTokenAt: end.firstTokenAt,
    ...times,
  }
}

/** Charged as the one, at the cost of the other that finished the answer. */
function servedBy(
  charged: Candidate,
  { offerId, providerKeyId }: Candidate,
  catalog: CatalogSnapshot,
): ServedBy {
  const { modelId, rate, rateVersion } = charged
  // On the client's own key the provider bills its client.
  const cost = providerKeyId === undefined ? catalog.offers.get(offerId)?.cost : undefined
  return {
    offerId,
    modelId,
    rate,
    rateVersion,
    // An offer that left the catalog while the call ran has no cost of ours to note.
    cost: cost ? rateTexts(cost) : { prompt: '0', completion: '0' },
    ...(providerKeyId !== undefined && { providerKeyId }),
  }
}

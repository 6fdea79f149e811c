import type { AttemptView, OperatorCall, SettledTimeline, TimelineEvent } from '../../core/api/calls.ts'
import { costOf } from '../../core/billing/pricing.ts'
import { formatRate, formatUsd, picoUsdPerToken } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { type CallRecord, callTimes, costRatesOf, type ListedCall } from './call-records.ts'

/** A settled call for operators: with its target, its cost and the margin. */
export function operatorCall(call: ListedCall): OperatorCall {
  const costPico = providerCost(call)
  return {
    id: call.id,
    account_id: call.accountId,
    key_id: call.keyId,
    request_id: call.requestId,
    status: call.status,
    error_code: call.errorCode,
    finish_reason: call.finishReason,
    stream: call.stream,
    requested_model: call.requestedModel,
    served_model: call.servedModelId,
    served_offer: call.servedOfferId,
    prompt_tokens: call.promptTokens,
    completion_tokens: call.completionTokens,
    audio_tokens: call.audioTokens,
    image_tokens: call.imageTokens,
    cached_tokens: call.cachedTokens,
    cache_write_tokens: call.cacheWriteTokens,
    units: call.units,
    unit: call.unit,
    is_byok: call.isByok,
    duplicate_of: call.duplicateOf,
    auto_score: call.autoScore,
    auto_tier: call.autoTier,
    auto_profile: call.autoProfile,
    held_usd: formatUsd(call.holdPico),
    charged_usd: formatUsd(call.chargePico),
    cost_usd: formatUsd(costPico),
    margin_usd: formatUsd(call.chargePico - costPico),
    admitted_at: isoTime(call.admittedAt),
    ...callTimes(call),
    settlement_lag_ms: Math.max(0, call.settledAt - call.finishedAt),
  }
}

/** A settled call with all its events in order. */
export function settledTimeline(record: CallRecord): SettledTimeline {
  return {
    object: 'call_timeline',
    state: 'settled',
    ...operatorCall(record),
    labels: record.labels,
    usage_source: record.usageSource,
    usage_clamped: record.usageClamped,
    prompt_rate: rate(record.promptRatePico),
    completion_rate: rate(record.completionRatePico),
    prompt_audio_rate: rate(record.promptAudioRatePico),
    prompt_image_rate: rate(record.promptImageRatePico),
    cache_read_rate: rate(record.cacheReadRatePico),
    cache_write_rate: rate(record.cacheWriteRatePico),
    units_rate: rate(record.unitsRatePico),
    prompt_cost_rate: rate(record.promptCostPico),
    completion_cost_rate: rate(record.completionCostPico),
    prompt_audio_cost_rate: rate(record.promptAudioCostPico),
    prompt_image_cost_rate: rate(record.promptImageCostPico),
    cache_read_cost_rate: rate(record.cacheReadCostPico),
    cache_write_cost_rate: rate(record.cacheWriteCostPico),
    units_cost_rate: rate(record.unitsCostPico),
    rate_version: record.rateVersion,
    attempts: record.attempts.map(
      (attempt): AttemptView => ({
        offer: attempt.offerId,
        outcome: attempt.outcome,
        http_status: attempt.httpStatus,
        provider_message: attempt.providerMessage ?? null,
        started_at: isoTime(attempt.startedAt),
        first_token_ms: attempt.firstTokenMs,
        duration_ms: attempt.durationMs,
        rescued: attempt.rescued === true,
        provider_key_id: attempt.providerKeyId ?? null,
      }),
    ),
    timeline: timelineOf(record.admittedAt, settledEvents(record)),
  }
}

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
      const { providerMessage: said } = attempt
      const status = httpStatus === null ? '' : ` (HTTP ${httpStatus})`
      const told = `${status}${said === undefined ? '' : `: "${said}"`}`
      const ownKey = providerKeyId === undefined ? '' : ` on the client's BYOK key ${providerKeyId}`
      return [
        { at: startedAt, kind: 'attempt', event: `attempt at ${offerId}${ownKey}` },
        {
          at: startedAt + durationMs,
          kind: 'attempt_ended',
          event: `attempt at ${offerId}${ownKey}: ${outcome}${told}${rescued ? ', rescued the answer' : ''}`,
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

const rate = (picoPerToken: bigint | null): string | null =>
  picoPerToken === null ? null : formatRate(picoUsdPerToken(picoPerToken))

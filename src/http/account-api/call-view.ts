import {
  type CallRecord,
  callTimes,
  type ListedCall,
  ratesOf,
} from '../../billing/call-records/call-record.ts'
import { attemptView } from '../../billing/call-records/operator-call.ts'
import type { ByokFailureView, CallAttempt, Generation } from '../../core/api/calls.ts'
import { isAutoModel } from '../../core/auto/routing-profiles.ts'
import { tierOfRate } from '../../core/billing/service-tier.ts'
import { formatRates } from '../../core/catalog/token-rates.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { byokFailure } from '../../core/routing/byok.ts'
import type { CsvCell } from '../csv.ts'

/** The reader of a call: its owner, or an operator, who sees everything. */
export type CallReader = 'owner' | 'operator'

/**
 * A settled call: everything that determined its price, and nothing that names its target. `model` is the name in the
 * response, so `auto` stays `auto`. If the gateway chose the model, its rates and the BYOK key that served it are
 * hidden, because they would reveal it.
 */
export function callView(call: ListedCall, reader: CallReader): Generation {
  const isHidden = hidesTarget(call, reader)
  const rates = ratesOf(call)
  const tier = tierOfRate(call.rateVersion)
  return {
    id: call.id,
    object: 'generation',
    created: Math.floor(call.admittedAt / 1000),
    model: call.requestedModel,
    key_id: call.keyId,
    request_id: call.requestId,
    stream: call.stream,
    status: call.status,
    finish_reason: call.finishReason,
    error_code: call.errorCode,
    byok: call.isByok,
    provider_key_id: isHidden ? null : call.providerKeyId,
    duplicate_of: call.duplicateOf,
    usage: {
      prompt_tokens: call.promptTokens,
      completion_tokens: call.completionTokens,
      total_tokens: call.promptTokens + call.completionTokens,
      ...(call.audioTokens > 0 && { audio_tokens: call.audioTokens }),
      ...(call.imageTokens > 0 && { image_tokens: call.imageTokens }),
      ...(call.cachedTokens > 0 && { cached_tokens: call.cachedTokens }),
      ...(call.cacheWriteTokens > 0 && { cache_write_tokens: call.cacheWriteTokens }),
      ...(call.cacheWriteHourTokens > 0 && { cache_write_hour_tokens: call.cacheWriteHourTokens }),
      ...(call.webSearches > 0 && { web_searches: call.webSearches }),
      ...(call.codeExecutions > 0 && { code_executions: call.codeExecutions }),
      ...(call.unit !== null && { units: call.units, unit: call.unit }),
      source: call.usageSource,
    },
    cost_usd: formatUsd(call.chargePico),
    ...(call.labels && { labels: call.labels }),
    ...(tier !== undefined && { service_tier: tier }),
    rates:
      isHidden || rates === null
        ? null
        : { ...formatRates(rates), unit: 'usd_per_million_tokens', version: call.rateVersion },
    timings: {
      admitted_at: isoTime(call.admittedAt),
      finished_at: isoTime(call.finishedAt),
      settled_at: isoTime(call.settledAt),
      ...callTimes(call),
    },
  }
}

/** Whether the completion broke off and another attempt finished it. */
export const isRescued = ({ attempts }: CallRecord): boolean =>
  attempts.some(({ rescued }) => rescued === true)

const hidesTarget = ({ requestedModel }: ListedCall, reader: CallReader): boolean =>
  reader === 'owner' && isAutoModel(requestedModel)

/** The attempts of a call for its owner. A provider's words are shown only to the owner of the BYOK key that was used. */
export function ownAttempts(call: CallRecord): CallAttempt[] {
  const isHidden = hidesTarget(call, 'owner')
  return call.attempts.map((attempt) => {
    const { offer: _, ...view } = attemptView(attempt)
    if (isHidden) return { ...view, http_status: null, provider_message: null, provider_key_id: null }
    return view.provider_key_id === null ? { ...view, provider_message: null } : view
  })
}

/** The client's BYOK keys that failed for a call, in order. */
export function byokFailures(call: CallRecord, reader: CallReader): ByokFailureView[] {
  const isHidden = hidesTarget(call, reader)
  return call.attempts.flatMap(({ providerKeyId, outcome, httpStatus }) => {
    const reason = providerKeyId === undefined ? null : byokFailure(outcome, httpStatus)
    if (providerKeyId === undefined || reason === null) return []
    return [{ provider_key_id: isHidden ? null : providerKeyId, reason, http_status: httpStatus }]
  })
}

/** The columns of an export of calls, each computed from a view. */
const CSV_COLUMNS: ReadonlyArray<readonly [name: string, read: (view: Generation) => CsvCell]> = [
  ['id', (view) => view.id],
  ['admitted_at', (view) => view.timings.admitted_at],
  ['model', (view) => view.model],
  ['key_id', (view) => view.key_id],
  ['request_id', (view) => view.request_id],
  ['stream', (view) => view.stream],
  ['status', (view) => view.status],
  ['finish_reason', (view) => view.finish_reason],
  ['error_code', (view) => view.error_code],
  ['byok', (view) => view.byok],
  ['provider_key_id', (view) => view.provider_key_id],
  ['prompt_tokens', (view) => view.usage.prompt_tokens],
  ['completion_tokens', (view) => view.usage.completion_tokens],
  ['prompt_rate_usd_per_million', (view) => view.rates?.prompt ?? null],
  ['completion_rate_usd_per_million', (view) => view.rates?.completion ?? null],
  ['rate_version', (view) => view.rates?.version ?? null],
  ['cost_usd', (view) => view.cost_usd],
  ['queued_ms', (view) => view.timings.queued_ms],
  ['first_token_ms', (view) => view.timings.first_token_ms],
  ['duration_ms', (view) => view.timings.duration_ms],
  ['audio_tokens', (view) => view.usage.audio_tokens ?? 0],
  ['image_tokens', (view) => view.usage.image_tokens ?? 0],
  ['prompt_audio_rate_usd_per_million', (view) => view.rates?.prompt_audio ?? null],
  ['prompt_image_rate_usd_per_million', (view) => view.rates?.prompt_image ?? null],
  ['cached_tokens', (view) => view.usage.cached_tokens ?? 0],
  ['cache_write_tokens', (view) => view.usage.cache_write_tokens ?? 0],
  ['cache_read_rate_usd_per_million', (view) => view.rates?.cache_read ?? null],
  ['cache_write_rate_usd_per_million', (view) => view.rates?.cache_write ?? null],
  ['cache_write_hour_tokens', (view) => view.usage.cache_write_hour_tokens ?? 0],
  ['cache_write_hour_rate_usd_per_million', (view) => view.rates?.cache_write_hour ?? null],
  ['web_searches', (view) => view.usage.web_searches ?? 0],
  ['web_search_rate_usd_per_million', (view) => view.rates?.web_search ?? null],
  ['code_executions', (view) => view.usage.code_executions ?? 0],
  ['code_execution_rate_usd_per_million', (view) => view.rates?.code_execution ?? null],
  ['units', (view) => view.usage.units ?? 0],
  ['unit', (view) => view.usage.unit ?? null],
  ['units_rate_usd_per_million', (view) => view.rates?.units ?? null],
  ['title', (view) => view.labels?.title ?? null],
  ['referer', (view) => view.labels?.referer ?? null],
  ['metadata', (view) => (view.labels?.metadata ? JSON.stringify(view.labels.metadata) : null)],
]

export const CALL_CSV_HEAD: readonly string[] = CSV_COLUMNS.map(([name]) => name)

export const callCsvCells = (view: Generation): CsvCell[] => CSV_COLUMNS.map(([, read]) => read(view))

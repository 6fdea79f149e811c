import type { ListedCall } from '../billing/call-record-store.ts'
import type { CsvCell } from '../core/csv.ts'
import { formatRate, formatUsd, picoUsd, picoUsdPerToken } from '../core/money.ts'

/**
 * A settled call as its owner sees it: everything that made its price, and nothing that names its target.
 * `model` is the one the answer named, so `auto` stays `auto`.
 */
export function callView(call: ListedCall) {
  const { promptRatePico, completionRatePico } = call
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
    provider_key_id: call.providerKeyId,
    usage: {
      prompt_tokens: call.promptTokens,
      completion_tokens: call.completionTokens,
      total_tokens: call.promptTokens + call.completionTokens,
      source: call.usageSource,
    },
    cost_usd: formatUsd(picoUsd(call.chargePico)),
    rates:
      promptRatePico === null || completionRatePico === null
        ? null
        : {
            prompt: formatRate(picoUsdPerToken(promptRatePico)),
            completion: formatRate(picoUsdPerToken(completionRatePico)),
            unit: 'usd_per_million_tokens',
            version: call.rateVersion,
          },
    timings: {
      admitted_at: isoTime(call.admittedAt),
      finished_at: isoTime(call.finishedAt),
      settled_at: isoTime(call.settledAt),
      queued_ms: call.claimedAt === null ? null : sinceAdmission(call, call.claimedAt),
      first_token_ms: call.firstTokenAt === null ? null : sinceAdmission(call, call.firstTokenAt),
      duration_ms: sinceAdmission(call, call.finishedAt),
    },
  }
}

export type CallView = ReturnType<typeof callView>

/** The columns of an export of calls, each read off a view. */
const CSV_COLUMNS: ReadonlyArray<readonly [name: string, read: (view: CallView) => CsvCell]> = [
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
]

export const CALL_CSV_HEAD: readonly string[] = CSV_COLUMNS.map(([name]) => name)

export const callCsvCells = (view: CallView): CsvCell[] => CSV_COLUMNS.map(([, read]) => read(view))

const isoTime = (unixMs: number): string => new Date(unixMs).toISOString()

/** Two machines' clocks may differ; no duration is shown below zero for that. */
const sinceAdmission = (call: ListedCall, unixMs: number): number => Math.max(0, unixMs - call.admittedAt)

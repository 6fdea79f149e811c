import { capturePosting } from '../../core/billing/postings.ts'
import type { SettlementRecord } from '../../core/calls/call-job.ts'
import { picoUsd } from '../../core/kernel/money.ts'

/**
 * The columns of a call record with their PostgreSQL types. Rows travel as one JSON array that
 * `json_to_recordset` reads by these names; 64-bit amounts travel as text.
 */
export const CALL_COLUMNS = {
  id: 'text',
  account_id: 'text',
  key_id: 'text',
  request_id: 'text',
  status: 'call_status',
  error_code: 'text',
  finish_reason: 'text',
  requested_model: 'text',
  stream: 'boolean',
  served_offer_id: 'text',
  served_model_id: 'text',
  prompt_rate_pico: 'bigint',
  completion_rate_pico: 'bigint',
  rate_version: 'text',
  prompt_audio_rate_pico: 'bigint',
  prompt_image_rate_pico: 'bigint',
  prompt_cost_pico: 'bigint',
  completion_cost_pico: 'bigint',
  prompt_audio_cost_pico: 'bigint',
  prompt_image_cost_pico: 'bigint',
  prompt_tokens: 'integer',
  completion_tokens: 'integer',
  audio_tokens: 'integer',
  image_tokens: 'integer',
  usage_source: 'usage_source',
  usage_clamped: 'boolean',
  hold_pico: 'bigint',
  charge_pico: 'bigint',
  is_byok: 'boolean',
  auto_score: 'real',
  auto_tier: 'text',
  auto_profile: 'text',
  provider_key_id: 'text',
  attempts: 'jsonb',
  admitted_at_ms: 'bigint',
  claimed_at_ms: 'bigint',
  first_token_at_ms: 'bigint',
  finished_at_ms: 'bigint',
} as const

/** What else of a settlement travels in its row. */
export const KEY_COLUMNS = { idempotency_digest: 'text' } as const

type CallRow = Record<keyof typeof CALL_COLUMNS | keyof typeof KEY_COLUMNS, unknown>

export interface EntryRow {
  transaction_id: string
  ledger_account: string
  amount_pico: string
}

/** One settlement as the rows it becomes; no entries where nothing is charged. */
export interface SettlementRows {
  record: SettlementRecord
  call: CallRow
  entries: EntryRow[]
}

/** Maps a settlement onto its rows. Throws on a record that is not shaped like one: it came over a queue. */
export function settlementRows(record: SettlementRecord): SettlementRows {
  if (!isCallName(record?.id)) throw new Error('it names no call')
  const { served } = record
  const call: CallRow = {
    id: record.id,
    account_id: record.accountId,
    key_id: record.keyId,
    request_id: record.requestId,
    status: record.status,
    error_code: record.errorCode,
    finish_reason: record.finishReason,
    requested_model: record.requestedModel,
    stream: record.stream,
    served_offer_id: served?.offerId,
    served_model_id: served?.modelId,
    prompt_rate_pico: served?.rate.prompt,
    completion_rate_pico: served?.rate.completion,
    prompt_audio_rate_pico: served?.rate.promptAudio,
    prompt_image_rate_pico: served?.rate.promptImage,
    rate_version: served?.rateVersion,
    prompt_cost_pico: served?.cost.prompt,
    completion_cost_pico: served?.cost.completion,
    prompt_audio_cost_pico: served?.cost.promptAudio,
    prompt_image_cost_pico: served?.cost.promptImage,
    prompt_tokens: record.usage.promptTokens,
    completion_tokens: record.usage.completionTokens,
    audio_tokens: record.usage.audioTokens ?? 0,
    image_tokens: record.usage.imageTokens ?? 0,
    usage_source: record.usageSource,
    usage_clamped: record.usageClamped,
    hold_pico: record.holdPico,
    charge_pico: record.chargePico,
    is_byok: isByok(record),
    auto_score: record.auto?.score,
    auto_tier: record.auto?.tier,
    auto_profile: record.auto?.profile,
    provider_key_id: served?.providerKeyId,
    attempts: record.attempts,
    admitted_at_ms: record.admittedAt,
    claimed_at_ms: record.claimedAt,
    first_token_at_ms: record.firstTokenAt,
    finished_at_ms: record.finishedAt,
    idempotency_digest: record.idempotencyDigest,
  }
  return { record, call, entries: captureEntries(record) }
}

/** What may stand as the id of a call: no id of ours is longer, and PostgreSQL holds it as it is. */
export const isCallName = (id: unknown): id is string =>
  typeof id === 'string' && /^[\x20-\x7e]{1,200}$/.test(id)

const isByok = ({ served }: SettlementRecord): boolean => served?.providerKeyId !== undefined

function captureEntries(record: SettlementRecord): EntryRow[] {
  const charge = BigInt(record.chargePico)
  if (charge === 0n) return []
  const income = isByok(record) ? 'byok_fees' : 'revenue'
  const posting = capturePosting(record.id, record.accountId, picoUsd(charge), income)
  return posting.entries.map((entry) => ({
    transaction_id: posting.id,
    ledger_account: entry.ledgerAccount,
    amount_pico: String(entry.amountPico),
  }))
}

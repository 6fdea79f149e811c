import type { CallStatus } from '../../core/calls/call-job.ts'

/** Filters of calls; null or absent: any. */
export interface CallFilter {
  keyId?: string | null
  /** The personal account that created the key. */
  memberId?: string | null
  status?: CallStatus | null
  /** Matches every alias and suffix of the requested model. */
  model?: string | null
  text?: CallText | null
  /** Of the next ones, only operators may ask: they show where a call was sent. */
  accountIds?: readonly string[] | null
  /** Of any of these keys. */
  keyIds?: readonly string[] | null
  /** A requested or a served model. */
  anyModel?: string | null
  requestId?: string | null
  offerId?: string | null
  minDurationMs?: number | null
}

/** A text in a call's status, error, requested model or labels, or the client's whole id of the request. */
export interface CallText {
  text: string
  /** Also calls of these keys, whose names have the text. */
  keyIds: readonly string[]
  /** Also calls of these accounts, and those that the text's model or offer served. */
  ofOperator?: { accountIds: readonly string[] }
}

/** The text that a label is searched in, in lower case. */
const LABELS_TEXT = `lower(concat_ws(E'\\n', labels->>'title', labels->>'referer', labels->>'preset', labels->>'session',
  (SELECT string_agg(pair.key || '=' || pair.value, E'\\n') FROM jsonb_each_text(labels->'metadata') AS pair)))`

/** The conditions of a filter in SQL, without that of the key. `value` adds a parameter and returns its name. */
export function callConditions(
  filter: CallFilter,
  accountId: string | null,
  value: (some: unknown) => string,
): string[] {
  const { memberId, status, model, text, accountIds, keyIds, anyModel, requestId, offerId, minDurationMs } =
    filter
  const conditions: string[] = []
  if (memberId != null && accountId !== null)
    conditions.push(
      `key_id IN (SELECT id FROM api_keys WHERE account_id = ${value(accountId)} AND created_by = ${value(memberId)})`,
    )
  if (status != null) conditions.push(`status = ${value(status)}::call_status`)
  if (model != null) conditions.push(`requested_model = ANY (${value(namesOf(model))}::text[])`)
  if (text != null) conditions.push(textCondition(text, value))
  // Not by their indexes, which would lead to more calls than are within the bound.
  if (accountIds != null) conditions.push(`(account_id = ANY (${value(accountIds)}::text[])) IS TRUE`)
  if (keyIds != null) conditions.push(`(key_id = ANY (${value(keyIds)}::text[])) IS TRUE`)
  if (anyModel != null) {
    const named = value(anyModel)
    conditions.push(`(requested_model = ${named} OR served_model_id = ${named})`)
  }
  if (requestId != null) conditions.push(`request_id = ${value(requestId)}`)
  if (offerId != null) conditions.push(`served_offer_id = ${value(offerId)}`)
  if (minDurationMs != null)
    conditions.push(`finished_at_ms - admitted_at_ms >= ${value(minDurationMs)}::integer`)
  return conditions
}

function textCondition({ text, keyIds, ofOperator }: CallText, value: (some: unknown) => string): string {
  const part = value(text.toLowerCase())
  const has = (column: string) => `strpos(lower(${column}), ${part}) > 0`
  const places = [
    `request_id = ${value(text)}`,
    `status::text = ${part}`,
    has('requested_model'),
    `(error_code IS NOT NULL AND ${has('error_code')})`,
    `(labels IS NOT NULL AND strpos(${LABELS_TEXT}, ${part}) > 0)`,
    ...(keyIds.length > 0 ? [`key_id = ANY (${value(keyIds)}::text[])`] : []),
    ...(ofOperator
      ? [`(served_offer_id IS NOT NULL AND ${has("served_offer_id || ' ' || served_model_id")})`]
      : []),
    ...(ofOperator?.accountIds.length ? [`account_id = ANY (${value(ofOperator.accountIds)}::text[])`] : []),
  ]
  return `(${places.join(' OR ')})`
}

/** All names that calls may use for a model, given any one of them. */
function namesOf(model: string): string[] {
  const id = model.replace(SUFFIX, '').replace(/^openai\/(?=[^/]+$)/, '')
  const ids = id.includes('/') ? [id] : [id, `openai/${id}`]
  return ids.flatMap((name) => ['', ...SUFFIXES].map((suffix) => name + suffix))
}

const SUFFIXES = [':nitro', ':floor', ':exacto']
const SUFFIX = new RegExp(`(?:${SUFFIXES.join('|')})$`)

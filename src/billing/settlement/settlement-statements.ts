import { capturePosting } from '../../core/billing/postings.ts'
import { unchargedCost } from '../../core/billing/uncharged-cost.ts'
import type { SettlementRecord } from '../../core/calls/call-job.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { picoUsd } from '../../core/kernel/money.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/**
 * The columns of a call record: their PostgreSQL types and their values from a settlement. Rows are sent as one JSON
 * array that `json_to_recordset` reads by these names, without those that are null; 64-bit amounts are sent as text.
 */
const CALL_COLUMNS = {
  id: ['text', ({ id }) => id],
  account_id: ['text', ({ accountId }) => accountId],
  key_id: ['text', ({ keyId }) => keyId],
  request_id: ['text', ({ requestId }) => requestId],
  status: ['call_status', ({ status }) => status],
  error_code: ['text', ({ errorCode }) => errorCode],
  finish_reason: ['text', ({ finishReason }) => finishReason],
  requested_model: ['text', ({ requestedModel }) => requestedModel],
  stream: ['boolean', ({ stream }) => stream],
  served_offer_id: ['text', ({ served }) => served?.offerId],
  served_model_id: ['text', ({ served }) => served?.modelId],
  prompt_rate_pico: ['bigint', ({ served }) => served?.rate.prompt],
  completion_rate_pico: ['bigint', ({ served }) => served?.rate.completion],
  rate_version: ['text', ({ served }) => served?.rateVersion],
  prompt_audio_rate_pico: ['bigint', ({ served }) => served?.rate.promptAudio],
  prompt_image_rate_pico: ['bigint', ({ served }) => served?.rate.promptImage],
  cache_read_rate_pico: ['bigint', ({ served }) => served?.rate.cacheRead],
  cache_write_rate_pico: ['bigint', ({ served }) => served?.rate.cacheWrite],
  prompt_cost_pico: ['bigint', ({ served }) => served?.cost.prompt],
  completion_cost_pico: ['bigint', ({ served }) => served?.cost.completion],
  prompt_audio_cost_pico: ['bigint', ({ served }) => served?.cost.promptAudio],
  prompt_image_cost_pico: ['bigint', ({ served }) => served?.cost.promptImage],
  cache_read_cost_pico: ['bigint', ({ served }) => served?.cost.cacheRead],
  cache_write_cost_pico: ['bigint', ({ served }) => served?.cost.cacheWrite],
  units_rate_pico: ['bigint', ({ served }) => served?.rate.units],
  units_cost_pico: ['bigint', ({ served }) => served?.cost.units],
  cache_write_hour_rate_pico: ['bigint', ({ served }) => served?.rate.cacheWriteHour],
  cache_write_hour_cost_pico: ['bigint', ({ served }) => served?.cost.cacheWriteHour],
  web_search_rate_pico: ['bigint', ({ served }) => served?.rate.webSearch],
  web_search_cost_pico: ['bigint', ({ served }) => served?.cost.webSearch],
  code_execution_rate_pico: ['bigint', ({ served }) => served?.rate.codeExecution],
  code_execution_cost_pico: ['bigint', ({ served }) => served?.cost.codeExecution],
  prompt_tokens: ['integer', ({ usage }) => usage.promptTokens],
  completion_tokens: ['integer', ({ usage }) => usage.completionTokens],
  audio_tokens: ['integer', ({ usage }) => usage.audioTokens ?? 0],
  image_tokens: ['integer', ({ usage }) => usage.imageTokens ?? 0],
  cached_tokens: ['integer', ({ usage }) => usage.cachedTokens ?? 0],
  cache_write_tokens: ['integer', ({ usage }) => usage.cacheWriteTokens ?? 0],
  cache_write_hour_tokens: ['integer', ({ usage }) => usage.cacheWriteHourTokens ?? 0],
  web_searches: ['integer', ({ usage }) => usage.webSearches ?? 0],
  code_executions: ['integer', ({ usage }) => usage.codeExecutions ?? 0],
  units: ['integer', ({ usage }) => usage.units ?? 0],
  unit: ['text', ({ served }) => served?.unit],
  usage_source: ['usage_source', ({ usageSource }) => usageSource],
  usage_clamped: ['boolean', ({ usageClamped }) => usageClamped],
  hold_pico: ['bigint', ({ holdPico }) => holdPico],
  redis_hold_pico: ['bigint', ({ redisHoldPico }) => redisHoldPico],
  charge_pico: ['bigint', ({ chargePico }) => chargePico],
  is_byok: ['boolean', isByok],
  auto_score: ['real', ({ auto }) => auto?.score],
  auto_profile: ['text', ({ auto }) => auto?.profile],
  auto_kind: ['text', ({ auto }) => auto?.kind],
  provider_key_id: ['text', ({ served }) => served?.providerKeyId],
  attempts: ['jsonb', ({ attempts }) => attempts],
  labels: ['jsonb', ({ labels }) => labels],
  admitted_at_ms: ['bigint', ({ admittedAt }) => admittedAt],
  claimed_at_ms: ['bigint', ({ claimedAt }) => claimedAt],
  first_token_at_ms: ['bigint', ({ firstTokenAt }) => firstTokenAt],
  finished_at_ms: ['bigint', ({ finishedAt }) => finishedAt],
  is_unanswered: ['boolean', ({ isUnanswered }) => isUnanswered],
} as const satisfies Columns

/** Further values of a settlement that are sent in its row. */
const ROW_COLUMNS = {
  ...CALL_COLUMNS,
  idempotency_digest: ['text', ({ idempotencyDigest }) => idempotencyDigest],
  uncharged_pico: ['bigint', (record) => String(unchargedCost(record).unchargedPico)],
  caused_pico: ['bigint', (record) => String(unchargedCost(record).causedPico)],
} as const satisfies Columns

type Columns = Record<string, readonly [type: string, of: (record: SettlementRecord) => unknown]>

type CallRow = Partial<Record<keyof typeof ROW_COLUMNS, unknown>>

const VALUES = Object.entries(ROW_COLUMNS) as Array<[keyof CallRow, Columns[string]]>

interface EntryRow {
  transaction_id: string
  ledger_account: string
  amount_pico: string
}

/** The rows of one settlement; no entries if nothing is charged. */
export interface SettlementRows {
  record: SettlementRecord
  call: CallRow
  entries: EntryRow[]
}

/** Maps a settlement to its rows. Throws on a malformed record, because records come from a queue. */
export function settlementRows(record: SettlementRecord): SettlementRows {
  if (!isCallName(record?.id)) throw new Error('the record names no call')
  const call: CallRow = {}
  for (const [name, [, of]] of VALUES) {
    const value = of(record)
    if (value != null) call[name] = value
  }
  return { record, call, entries: captureEntries(record) }
}

/** Whether a value can be the id of a call: no id of ours is longer, and PostgreSQL can store it. */
export const isCallName = (id: unknown): id is string =>
  typeof id === 'string' && /^[\x20-\x7e]{1,200}$/.test(id)

function isByok({ served }: SettlementRecord): boolean {
  return served?.providerKeyId !== undefined
}

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

const names = Object.keys(CALL_COLUMNS)
const columns = names.join(', ')
const typedColumns = Object.entries(ROW_COLUMNS).map(([name, [type]]) => `${name} ${type}`)
const replaced = [...names.filter((name) => name !== 'id'), 'duplicate_of', 'settled_at_ms'].map(
  (name) => `${name} = EXCLUDED.${name}`,
)
const SELECTED: Partial<Record<string, string>> = {
  account_id: 'account.id',
  charge_pico: 'CASE WHEN key.call_id IS NULL THEN call.charge_pico ELSE 0 END',
  // Those of a deleted account are being erased.
  labels: 'CASE WHEN account.deleted_at IS NULL THEN call.labels END',
}
const selected = names.map((name) => SELECTED[name] ?? `call.${name}`)

/** The columns that state how a call ended; times and attempts may differ when a worker repeats a settlement. */
export const OUTCOME_COLUMNS = [
  'status',
  'error_code',
  'served_offer_id',
  'prompt_tokens',
  'completion_tokens',
  'charge_pico',
] as const satisfies Array<keyof typeof CALL_COLUMNS>
/** `isUnserved` over a row. */
const unserved = (row: string) => `${row}.served_offer_id IS NULL`

/** How long an Idempotency-Key identifies the call that it was charged for, from that call's admission. */
const KEY_RETENTION_MS = 86_400_000

/** An expired key is reused for the later call. */
const replacesKey = `EXCLUDED.admitted_at_ms - known.admitted_at_ms >= ${KEY_RETENTION_MS}`

/**
 * One statement is one transaction and one round trip. `account` locks the rows in the order of their ids, so that
 * writers cannot deadlock. It goes first because everything reads from it, and locking makes it read the newest
 * balances. An unknown account gives a null account id, which the database rejects. `recorded` decides what is new: a
 * call without a record, or with a record without a serving offer, which is replaced by one that has it; it waits for
 * writers of the same call and sees their rows. A replaced record charged nothing, and a trigger keeps it. `key` maps
 * an Idempotency-Key to its call: the first that is settled, for as long as keys are kept, whatever Redis has lost.
 * Another call of that key is its duplicate and is charged nothing. The update without a change returns that call even
 * if it is newer than the statement's snapshot. `charged`, entries, balances and versions follow from `recorded` alone.
 * `costs` adds charges and uncharged cost of accounts by day, including the attempts of a replaced record. States
 * follow by `account_state_after`; $3 is the hold of the cheapest call, if the records have it. $4 is a call that was
 * settled before, if one is known: without it, PostgreSQL lost commits.
 */
export const SETTLE = `
WITH call AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS call (${typedColumns.join(', ')})
), account AS MATERIALIZED (
  SELECT id, balance_pico, version, deleted_at FROM accounts
  WHERE id IN (SELECT account_id FROM call) ORDER BY id FOR UPDATE
), key AS MATERIALIZED (
  INSERT INTO idempotency_keys AS known (account_id, key_digest, call_id, admitted_at_ms)
  SELECT DISTINCT ON (account.id, call.idempotency_digest)
         account.id, call.idempotency_digest, call.id, call.admitted_at_ms
  FROM call JOIN account ON account.id = call.account_id
  WHERE call.idempotency_digest IS NOT NULL
  ORDER BY account.id, call.idempotency_digest, call.admitted_at_ms
  ON CONFLICT (account_id, key_digest) DO UPDATE SET
    call_id = CASE WHEN ${replacesKey} THEN EXCLUDED.call_id ELSE known.call_id END,
    admitted_at_ms = CASE WHEN ${replacesKey} THEN EXCLUDED.admitted_at_ms ELSE known.admitted_at_ms END
  RETURNING account_id, key_digest, call_id, admitted_at_ms
), recorded AS (
  INSERT INTO call_records AS known (${columns}, duplicate_of)
  SELECT ${selected.join(', ')}, key.call_id
  FROM call LEFT JOIN account ON account.id = call.account_id
  LEFT JOIN key ON key.account_id = call.account_id AND key.key_digest = call.idempotency_digest
    AND key.call_id <> call.id AND abs(call.admitted_at_ms - key.admitted_at_ms) < ${KEY_RETENTION_MS}
  ON CONFLICT (id) DO UPDATE SET ${replaced.join(', ')}, supersedes = true
  WHERE ${unserved('known')} AND NOT (${unserved('EXCLUDED')}) AND known.account_id = EXCLUDED.account_id
  RETURNING id, account_id, charge_pico, duplicate_of, supersedes IS NOT NULL AS superseded
), costs AS (
  INSERT INTO account_provider_costs AS known (account_id, day, charged_pico, uncharged_pico, caused_pico)
  SELECT recorded.account_id, (now() AT TIME ZONE 'UTC')::date, sum(recorded.charge_pico),
         sum(CASE WHEN superseded THEN 0 ELSE call.uncharged_pico END),
         sum(CASE WHEN superseded THEN 0 ELSE call.caused_pico END)
  FROM recorded JOIN call ON call.id = recorded.id
  GROUP BY recorded.account_id
  HAVING sum(recorded.charge_pico) > 0 OR sum(call.uncharged_pico) > 0
  ON CONFLICT (account_id, day) DO UPDATE SET
    charged_pico = known.charged_pico + EXCLUDED.charged_pico,
    uncharged_pico = known.uncharged_pico + EXCLUDED.uncharged_pico,
    caused_pico = known.caused_pico + EXCLUDED.caused_pico
), charged AS MATERIALIZED (
  SELECT id, account_id, charge_pico FROM recorded WHERE charge_pico > 0
), transactions AS (
  INSERT INTO ledger_transactions (id, kind, account_id) SELECT id, 'capture', account_id FROM charged
), entries AS (
  INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
  SELECT charged.id, 'capture', entry.ledger_account, entry.amount_pico
  FROM json_to_recordset($2::json) AS entry (transaction_id text, ledger_account text, amount_pico bigint)
  JOIN charged ON charged.id = entry.transaction_id
), total AS (
  SELECT account_id, sum(charge_pico)::bigint AS charge_pico FROM charged GROUP BY account_id
), changed AS (
  UPDATE accounts SET
    balance_pico = accounts.balance_pico - total.charge_pico,
    version = accounts.version + 1,
    least_call_pico = coalesce($3::bigint, accounts.least_call_pico),
    state = account_state_after(accounts.state, accounts.balance_pico - total.charge_pico, -total.charge_pico,
                                'capture', coalesce($3::bigint, accounts.least_call_pico))
  FROM total WHERE accounts.id = total.account_id
  RETURNING accounts.id, accounts.balance_pico, accounts.version
)
SELECT account.id AS "accountId",
       coalesce(changed.balance_pico, account.balance_pico) AS "balancePico",
       coalesce(changed.version, account.version) AS "version",
       (SELECT count(*)::int FROM recorded WHERE duplicate_of IS NULL) AS "recordedCalls",
       (SELECT max(id) FROM recorded) AS "newestCall",
       (SELECT array_agg(id) FROM recorded WHERE superseded) AS "supersededCalls",
       ($4::text IS NULL OR EXISTS (SELECT 1 FROM call_records WHERE id = $4)) AS "hasNewest"
FROM account LEFT JOIN changed ON changed.id = account.id`

/**
 * Keeps the dropped records of a batch that differ from the record that counts, without labels. It is a separate
 * statement, to see rows that other writers committed while SETTLE waited for them; after a crash in between, the
 * repeated jobs keep them. Two records without a serving offer do not conflict: both charge nothing. Nor does the
 * charge that a duplicate would have had, nor a record that states nothing of its client (see SettlementRecord).
 */
export const KEEP_CONFLICTS = `
INSERT INTO settlement_conflicts (call_id, outcome, unserved, ${OUTCOME_COLUMNS.join(', ')}, record)
SELECT call.id, 'dropped', ${unserved('call')}, ${OUTCOME_COLUMNS.map((name) => `call.${name}`).join(', ')}, to_jsonb(call) - 'labels'
FROM json_to_recordset($1::json) AS call (${typedColumns.join(', ')})
JOIN call_records AS known ON known.id = call.id
WHERE (${OUTCOME_COLUMNS.map((name) => `call.${name}`).join(', ')})
        IS DISTINCT FROM (${OUTCOME_COLUMNS.map((name) => `known.${name}`).join(', ')})
  AND NOT (${unserved('call')} AND (${unserved('known')} OR call.is_unanswered IS TRUE))
  AND known.duplicate_of IS NULL
ON CONFLICT DO NOTHING`

const FIND = `
SELECT call_id AS "callId" FROM idempotency_keys
WHERE account_id = $1 AND key_digest = $2 AND admitted_at_ms > extract(epoch FROM now()) * 1000 - ${KEY_RETENTION_MS}`

/** The settled call of an account for an Idempotency-Key, by the digest of the key. */
export async function findSettledKey(
  postgres: Postgres,
  accountId: string,
  digest: string,
): Promise<CallId | null> {
  const [row] = await postgres.$queryRawUnsafe<Array<{ callId: CallId }>>(FIND, accountId, digest)
  return row?.callId ?? null
}

/** Maximum keys deleted by one statement. */
const PRUNED_AT_ONCE = 10_000

const PRUNE = `
DELETE FROM idempotency_keys WHERE (account_id, key_digest) IN (
  SELECT account_id, key_digest FROM idempotency_keys
  WHERE admitted_at_ms < extract(epoch FROM now()) * 1000 - 2 * ${KEY_RETENTION_MS}
  ORDER BY admitted_at_ms LIMIT ${PRUNED_AT_ONCE}
)`

/**
 * Deletes expired keys, until none is left or the process stops. They are kept for twice their lifetime, because
 * settlements may be late.
 */
export async function pruneSettledKeys(postgres: Postgres, stopping?: AbortSignal): Promise<void> {
  let deleted: number
  do {
    deleted = await postgres.$executeRawUnsafe(PRUNE)
  } while (deleted === PRUNED_AT_ONCE && !stopping?.aborted)
}

/**
 * SQL for the cost of a call's prompt in pico-USD, by our rates or the provider's; see `costOf` in
 * src/core/billing/pricing.ts.
 */
const promptSum = (price: 'rate' | 'cost') => {
  const sum = (tokens: string, kind: string) =>
    `${tokens} * coalesce(${kind}_${price}_pico, prompt_${price}_pico)::numeric`
  const uses = (count: string, kind: string) => `${count} * coalesce(${kind}_${price}_pico, 0)::numeric`
  return `((prompt_tokens - audio_tokens - image_tokens - cached_tokens - cache_write_tokens) * prompt_${price}_pico::numeric
    + ${sum('audio_tokens', 'prompt_audio')} + ${sum('image_tokens', 'prompt_image')}
    + ${sum('cached_tokens', 'cache_read')} + ${sum('(cache_write_tokens - cache_write_hour_tokens)', 'cache_write')}
    + cache_write_hour_tokens
      * coalesce(cache_write_hour_${price}_pico, cache_write_${price}_pico, prompt_${price}_pico)::numeric
    + ${uses('units', 'units')} + ${uses('web_searches', 'web_search')} + ${uses('code_executions', 'code_execution')})`
}

export const PROMPT_SUM_SQL = { rate: promptSum('rate'), cost: promptSum('cost') } as const

import { expect } from 'vitest'
import { PROMPT_SUM_SQL } from '../../src/billing/settlement/settlement-statements.ts'
import type { Postgres } from '../../src/platform/postgres/postgres.ts'

/** What the totals must be, computed from call records and ledger entries in another way than the triggers do. */
const FROM_HISTORY: Record<string, string> = {
  spend_totals: `
    WITH call AS (SELECT *, 'd' || (to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC')::date AS day FROM call_records)
    SELECT account_id, key_id, day AS period, count(*) FILTER (WHERE charge_pico > 0) AS charged_calls,
           sum(charge_pico) AS spent_pico, max(admitted_at_ms) AS last_call_at_ms,
           max(CASE WHEN charge_pico > 0 THEN admitted_at_ms END) AS last_charge_at_ms
    FROM (
      SELECT account_id, key_id, day, charge_pico, admitted_at_ms FROM call WHERE key_id <> ''
      UNION ALL SELECT account_id, key_id, 'total', charge_pico, admitted_at_ms FROM call WHERE key_id <> ''
      UNION ALL SELECT account_id, '', day, charge_pico, admitted_at_ms FROM call
      UNION ALL SELECT account_id, '', 'total', charge_pico, admitted_at_ms FROM call
      UNION ALL SELECT account_id, jsonb_array_elements_text(labels->'groups'), day, charge_pico, admitted_at_ms FROM call
      UNION ALL SELECT account_id, jsonb_array_elements_text(labels->'groups'), 'total', charge_pico, admitted_at_ms FROM call
    ) AS held GROUP BY 1, 2, 3`,
  usage_totals: `
    SELECT account_id, width_ms, floor(admitted_at_ms / width_ms::numeric) * width_ms AS starts_at_ms, key_id,
           requested_model, offer_id, model_id, is_byok, sum(calls) AS calls, sum(failed) AS failed_calls,
           sum(charged) AS charged_calls, sum(prompt) AS prompt_tokens, sum(completion) AS completion_tokens,
           sum(charge) AS charge_pico, sum(cost) AS cost_pico, sum(broken_prompt) AS broken_prompt_tokens,
           sum(broken_completion) AS broken_completion_tokens, sum(broken) AS broken_pico,
           coalesce(sum(prompt) FILTER (WHERE prompt >= 1024), 0) AS cacheable_tokens,
           coalesce(sum(cached_tokens) FILTER (WHERE prompt >= 1024), 0) AS cached_tokens,
           coalesce(sum(uncached) FILTER (WHERE prompt >= 1024), 0) AS uncached_prompt_pico,
           coalesce(sum(uncached - cost + uncacheable) FILTER (WHERE prompt >= 1024), 0) AS cache_saved_pico
    FROM unnest(ARRAY[900000, 3600000, 86400000]) AS width_ms, (
      SELECT account_id, admitted_at_ms, key_id, requested_model, coalesce(served_offer_id, '') AS offer_id,
             coalesce(served_model_id, '') AS model_id, is_byok, 1 AS calls, (status = 'failed')::int AS failed,
             (charge_pico > 0)::int AS charged, prompt_tokens AS prompt, completion_tokens AS completion,
             charge_pico AS charge,
             coalesce(${PROMPT_SUM_SQL.cost} + completion_tokens * completion_cost_pico, 0) AS cost,
             0 AS broken_prompt, 0 AS broken_completion, 0 AS broken, cached_tokens,
             coalesce(prompt_tokens * prompt_cost_pico
               + audio_tokens * (coalesce(prompt_audio_cost_pico, prompt_cost_pico) - prompt_cost_pico)
               + image_tokens * (coalesce(prompt_image_cost_pico, prompt_cost_pico) - prompt_cost_pico), 0) AS uncached,
             coalesce(completion_tokens * completion_cost_pico, 0) + units * coalesce(units_cost_pico, 0)
               + web_searches * coalesce(web_search_cost_pico, 0)
               + code_executions * coalesce(code_execution_cost_pico, 0) AS uncacheable
      FROM call_records
      UNION ALL
      SELECT account_id, admitted_at_ms, key_id, requested_model, attempt->>'offerId', coalesce(served_model_id, ''),
             false, 0, 0, 0, 0, 0, 0, 0, (attempt->'spent'->'promptTokens')::int,
             (attempt->'spent'->'completionTokens')::int, (attempt->'spent'->>'costPico')::numeric, 0, 0, 0
      FROM call_records, jsonb_array_elements(attempts) AS attempt WHERE attempt->'spent' IS NOT NULL
    ) AS part GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`,
  ledger_totals: `
    SELECT account_id, kind, ledger_account, count(*) AS entries, sum(amount_pico) AS amount_pico
    FROM ledger_entries JOIN ledger_transactions AS owner USING (kind) WHERE owner.id = transaction_id GROUP BY 1, 2, 3`,
}

const COLUMNS: Record<string, string> = {
  spend_totals: 'account_id, key_id, period, charged_calls, spent_pico, last_call_at_ms, last_charge_at_ms',
  usage_totals: `account_id, width_ms, starts_at_ms, key_id, requested_model, offer_id, model_id, is_byok, calls,
    failed_calls, charged_calls, prompt_tokens, completion_tokens, charge_pico, cost_pico, broken_prompt_tokens,
    broken_completion_tokens, broken_pico, cacheable_tokens, cached_tokens, uncached_prompt_pico, cache_saved_pico`,
  ledger_totals: 'account_id, kind, ledger_account, entries, amount_pico',
}

/** By table: its columns, and a query of what they must be. */
export const TOTALS_OF_HISTORY = Object.fromEntries(
  Object.entries(FROM_HISTORY).map(([table, sql]) => [table, { columns: COLUMNS[table]!, sql }]),
)

const counted = (ms: string) => `
  coalesce(sum(('1e' || 9 * (SELECT count(*) FROM generate_series(1, 63) AS edge
    WHERE 16 * power(2, edge / 4.0::float8) <= ${ms}))::numeric) FILTER (WHERE ${ms} IS NOT NULL), 0)`
/** The counts of calls by how long they took, and what they must be. */
const WRONG_LATENCIES = `
  WITH stored AS (
    SELECT account_id, width_ms, starts_at_ms, key_id, requested_model, sum(first_tokens), sum(durations) FROM usage_totals
    GROUP BY 1, 2, 3, 4, 5 HAVING sum(calls) <> 0 OR sum(first_tokens) <> 0 OR sum(durations) <> 0
  ), expected AS (
    SELECT account_id, width_ms, floor(admitted_at_ms / width_ms::numeric)::bigint * width_ms, key_id, requested_model,
           ${counted('first_token_at_ms - admitted_at_ms')}, ${counted('finished_at_ms - admitted_at_ms')}
    FROM unnest(ARRAY[900000::bigint, 3600000, 86400000]) AS width_ms, call_records GROUP BY 1, 2, 3, 4, 5
  )
  (TABLE expected EXCEPT TABLE stored) UNION ALL (TABLE stored EXCEPT TABLE expected)`

/** Expects every total to be the sum of what is recorded. */
export async function expectTotalsOfHistory(postgres: Pick<Postgres, '$queryRawUnsafe'>): Promise<void> {
  for (const [table, { columns, sql }] of Object.entries(TOTALS_OF_HISTORY)) {
    const differing = await postgres.$queryRawUnsafe<Array<{ difference: string; total: string }>>(`
      WITH expected AS (SELECT ${columns} FROM (${sql}) AS history), stored AS (SELECT ${columns} FROM ${table})
      SELECT 'missing' AS difference, missing::text AS total FROM (TABLE expected EXCEPT TABLE stored) AS missing
      UNION ALL SELECT 'wrong', wrong::text FROM (TABLE stored EXCEPT TABLE expected) AS wrong ORDER BY 2`)
    expect(
      differing.filter((row) => !isEmptied(row)),
      table,
    ).toEqual([])
  }
}

/** Expects the counts of calls by how long they took to be those of the calls that are recorded. */
export const expectLatenciesOfHistory = async (postgres: Pick<Postgres, '$queryRawUnsafe'>): Promise<void> =>
  expect(await postgres.$queryRawUnsafe(WRONG_LATENCIES)).toEqual([])

/** A superseded record, and groups whose labels are deleted, leave a row of zeros where nothing else was counted. */
const isEmptied = ({ difference, total }: { difference: string; total: string }) =>
  difference === 'wrong' && /(?:,0){14}\)$|^\(\w+,"?(?:project|tag|user):.*,0,0,\d+,\d*\)$/.test(total)

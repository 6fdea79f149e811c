-- Totals of calls and of the ledger, so that no limit, cap or report sums history. Triggers add to them in the statement that
-- settles or posts, whatever code runs it; a record that replaces another adds the difference. A statement changes totals of
-- accounts whose rows it has locked, in the order of their ids, and the totals in the order of their primary keys, so writers
-- cannot deadlock. Amounts that grow for years are numeric: they may exceed 64 bits.
-- Totals outlive their calls and entries: detaching or dropping a partition of those tables changes none. To copy rows into
-- another table with these triggers, create the triggers after the copy.

-- What an account and each of its keys spent, by the time of admission (UTC).
CREATE TABLE spend_totals (
  account_id        text NOT NULL,
  -- Empty: all calls of the account.
  key_id            text NOT NULL,
  -- A day, d2026-11-25, or total: the names of periods in src/core/billing/allowance-period.ts.
  period            text NOT NULL,
  charged_calls     bigint NOT NULL,
  spent_pico        numeric NOT NULL,
  -- Admission of the latest call, and of the latest charged call.
  last_call_at_ms   bigint NOT NULL,
  last_charge_at_ms bigint,
  PRIMARY KEY (account_id, key_id, period)
) WITH (fillfactor = 70);

-- Calls, tokens, charges and costs by quarter of an hour and by day (UTC) of admission. All time zones differ from UTC by
-- quarters of an hour.
CREATE TABLE usage_totals (
  account_id               text NOT NULL,
  -- 900000 or 86400000.
  width_ms                 bigint NOT NULL,
  starts_at_ms             bigint NOT NULL,
  key_id                   text NOT NULL,
  requested_model          text NOT NULL,
  -- What served the calls, or the offer of a broken attempt; empty: nothing.
  offer_id                 text NOT NULL,
  model_id                 text NOT NULL,
  is_byok                  boolean NOT NULL,
  calls                    bigint NOT NULL,
  failed_calls             bigint NOT NULL,
  charged_calls            bigint NOT NULL,
  prompt_tokens            bigint NOT NULL,
  completion_tokens        bigint NOT NULL,
  charge_pico              numeric NOT NULL,
  -- Tokens at the provider's price; zero on a BYOK key.
  cost_pico                numeric NOT NULL,
  -- Attempts that a provider bills and that served no call.
  broken_prompt_tokens     bigint NOT NULL,
  broken_completion_tokens bigint NOT NULL,
  broken_pico              numeric NOT NULL,
  PRIMARY KEY (account_id, width_ms, starts_at_ms, key_id, requested_model, offer_id, model_id, is_byok)
) WITH (fillfactor = 70);
-- Reports over all accounts.
CREATE INDEX usage_totals_width_ms_starts_at_ms_idx ON usage_totals (width_ms, starts_at_ms);

-- Entries of an account's transactions, by kind and ledger account.
CREATE TABLE ledger_totals (
  account_id     text NOT NULL,
  kind           ledger_kind NOT NULL,
  ledger_account text NOT NULL,
  entries        bigint NOT NULL,
  amount_pico    numeric NOT NULL,
  PRIMARY KEY (account_id, kind, ledger_account)
) WITH (fillfactor = 70);

CREATE FUNCTION ledger_entries_add_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_totals AS known (account_id, kind, ledger_account, entries, amount_pico)
  SELECT owner.account_id, entry.kind, entry.ledger_account, count(*), sum(entry.amount_pico)
  FROM added_entries AS entry
  JOIN ledger_transactions AS owner ON owner.id = entry.transaction_id AND owner.kind = entry.kind
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (account_id, kind, ledger_account) DO UPDATE SET
    entries = known.entries + EXCLUDED.entries, amount_pico = known.amount_pico + EXCLUDED.amount_pico;
  RETURN NULL;
END;
$$;

-- The same statements add the calls of three sources: of an insert, of an update (less what it replaces), and of history.
DO $migration$
DECLARE
  statements CONSTANT text := $statements$
  INSERT INTO spend_totals AS known
    (account_id, key_id, period, charged_calls, spent_pico, last_call_at_ms, last_charge_at_ms)
  SELECT call.account_id, holder.key_id, total.period, sum(CASE WHEN charge_pico > 0 THEN sign ELSE 0 END),
         sum(sign * charge_pico::numeric), max(admitted_at_ms), max(admitted_at_ms) FILTER (WHERE charge_pico > 0)
  FROM (%SOURCE%) AS call
  CROSS JOIN LATERAL (SELECT '' AS key_id UNION SELECT call.key_id) AS holder
  CROSS JOIN LATERAL (
    VALUES (to_char(date '1970-01-01' + (admitted_at_ms / 86400000)::integer, '"d"YYYY-MM-DD')), ('total')
  ) AS total (period)
  GROUP BY 1, 2, 3 HAVING sum(sign) <> 0 OR sum(sign * charge_pico::numeric) <> 0
  ORDER BY 1, 2, 3
  ON CONFLICT (account_id, key_id, period) DO UPDATE SET
    charged_calls = known.charged_calls + EXCLUDED.charged_calls,
    spent_pico = known.spent_pico + EXCLUDED.spent_pico,
    last_call_at_ms = greatest(known.last_call_at_ms, EXCLUDED.last_call_at_ms),
    last_charge_at_ms = greatest(known.last_charge_at_ms, EXCLUDED.last_charge_at_ms);

  INSERT INTO usage_totals AS known
    (account_id, width_ms, starts_at_ms, key_id, requested_model, offer_id, model_id, is_byok, calls, failed_calls,
     charged_calls, prompt_tokens, completion_tokens, charge_pico, cost_pico, broken_prompt_tokens,
     broken_completion_tokens, broken_pico)
  SELECT account_id, span.width_ms, admitted_at_ms - admitted_at_ms % span.width_ms, key_id, requested_model, offer_id,
         model_id, is_byok, sum(calls), sum(failed), sum(charged), sum(prompt), sum(completion), sum(charge), sum(cost),
         sum(broken_prompt), sum(broken_completion), sum(broken)
  FROM (
    SELECT account_id, admitted_at_ms, key_id, requested_model, coalesce(served_offer_id, '') AS offer_id,
           coalesce(served_model_id, '') AS model_id, is_byok, sign AS calls,
           CASE WHEN status = 'failed' THEN sign ELSE 0 END AS failed,
           CASE WHEN charge_pico > 0 THEN sign ELSE 0 END AS charged, sign * prompt_tokens AS prompt,
           sign * completion_tokens AS completion, sign * charge_pico::numeric AS charge,
           sign * coalesce(
             (prompt_tokens - audio_tokens - image_tokens - cached_tokens - cache_write_tokens) * prompt_cost_pico::numeric
               + audio_tokens * coalesce(prompt_audio_cost_pico, prompt_cost_pico)::numeric
               + image_tokens * coalesce(prompt_image_cost_pico, prompt_cost_pico)::numeric
               + cached_tokens * coalesce(cache_read_cost_pico, prompt_cost_pico)::numeric
               + cache_write_tokens * coalesce(cache_write_cost_pico, prompt_cost_pico)::numeric
               + units * coalesce(units_cost_pico, 0)::numeric
               + completion_tokens * coalesce(completion_cost_pico, 0)::numeric, 0) AS cost,
           0 AS broken_prompt, 0 AS broken_completion, 0::numeric AS broken
    FROM (%SOURCE%) AS call
    UNION ALL
    SELECT account_id, admitted_at_ms, key_id, requested_model, attempt->>'offerId', coalesce(served_model_id, ''), false,
           0, 0, 0, 0, 0, 0, 0, sign * (attempt->'spent'->>'promptTokens')::integer,
           sign * (attempt->'spent'->>'completionTokens')::integer, sign * (attempt->'spent'->>'costPico')::numeric
    FROM (%SOURCE%) AS call CROSS JOIN LATERAL jsonb_array_elements(attempts) AS attempt
    WHERE attempts @> '[{"spent": {}}]' AND attempt ? 'spent'
  ) AS part CROSS JOIN (VALUES (900000::bigint), (86400000)) AS span (width_ms)
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
  HAVING sum(calls) <> 0 OR sum(failed) <> 0 OR sum(prompt) <> 0 OR sum(completion) <> 0 OR sum(charge) <> 0
      OR sum(cost) <> 0 OR sum(broken_prompt) <> 0 OR sum(broken_completion) <> 0 OR sum(broken) <> 0
  ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
  ON CONFLICT (account_id, width_ms, starts_at_ms, key_id, requested_model, offer_id, model_id, is_byok) DO UPDATE SET
    calls = known.calls + EXCLUDED.calls,
    failed_calls = known.failed_calls + EXCLUDED.failed_calls,
    charged_calls = known.charged_calls + EXCLUDED.charged_calls,
    prompt_tokens = known.prompt_tokens + EXCLUDED.prompt_tokens,
    completion_tokens = known.completion_tokens + EXCLUDED.completion_tokens,
    charge_pico = known.charge_pico + EXCLUDED.charge_pico,
    cost_pico = known.cost_pico + EXCLUDED.cost_pico,
    broken_prompt_tokens = known.broken_prompt_tokens + EXCLUDED.broken_prompt_tokens,
    broken_completion_tokens = known.broken_completion_tokens + EXCLUDED.broken_completion_tokens,
    broken_pico = known.broken_pico + EXCLUDED.broken_pico;
  $statements$;
  added CONSTANT text := 'SELECT 1 AS sign, added.* FROM added';
  definition CONSTANT text :=
    'CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $body$BEGIN %s RETURN NULL; END;$body$';
BEGIN
  EXECUTE format(definition, 'call_records_add_totals', replace(statements, '%SOURCE%', added));
  EXECUTE format(definition, 'call_records_change_totals',
                 replace(statements, '%SOURCE%', added || ' UNION ALL SELECT -1, removed.* FROM removed'));
  -- Writers wait, so that each call and entry is counted here or by a trigger.
  LOCK TABLE call_records, ledger_entries IN SHARE ROW EXCLUSIVE MODE;
  EXECUTE replace(statements, '%SOURCE%', 'SELECT 1 AS sign, history.* FROM call_records AS history');
  INSERT INTO ledger_totals
  SELECT owner.account_id, entry.kind, entry.ledger_account, count(*), sum(entry.amount_pico)
  FROM ledger_entries AS entry
  JOIN ledger_transactions AS owner ON owner.id = entry.transaction_id AND owner.kind = entry.kind
  GROUP BY 1, 2, 3;
END;
$migration$;

CREATE TRIGGER call_records_added AFTER INSERT ON call_records REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION call_records_add_totals();
CREATE TRIGGER call_records_changed AFTER UPDATE ON call_records REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION call_records_change_totals();
CREATE TRIGGER ledger_entries_totalled AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS added_entries
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_entries_add_totals();

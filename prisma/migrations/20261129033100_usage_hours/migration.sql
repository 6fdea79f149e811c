-- Usage by the hour, beside quarters of an hour and days: charts by hour, and by day in zones whose clocks differ from UTC by
-- whole hours, read a fraction of the rows. And counts of calls by duration as one number, so that sum() adds them: a count is
-- nine decimal digits of it, those of the lowest bucket last.

-- Writers wait, so that each call is counted here or by the trigger.
LOCK TABLE call_records IN SHARE ROW EXCLUSIVE MODE;

-- One call of a duration.
CREATE OR REPLACE FUNCTION latency_count(ms bigint) RETURNS numeric IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT ('1e' || 9 * latency_bucket(ms))::numeric
$$;

CREATE FUNCTION counts_as_number(counts integer[]) RETURNS numeric IMMUTABLE LANGUAGE sql AS $$
  SELECT coalesce(sum(counts[bucket] * ('1e' || 9 * bucket)::numeric) FILTER (WHERE counts[bucket] > 0), 0)
  FROM generate_subscripts(counts, 1) AS bucket
$$;
ALTER TABLE usage_totals
  ALTER COLUMN first_tokens DROP DEFAULT, ALTER COLUMN first_tokens TYPE numeric USING counts_as_number(first_tokens),
  ALTER COLUMN first_tokens SET DEFAULT 0,
  ALTER COLUMN durations DROP DEFAULT, ALTER COLUMN durations TYPE numeric USING counts_as_number(durations),
  ALTER COLUMN durations SET DEFAULT 0;
DROP FUNCTION counts_as_number;

DO $migration$
DECLARE
  edits CONSTANT text[] := ARRAY[
    ['(VALUES (900000::bigint), (86400000))', '(VALUES (900000::bigint), (3600000), (86400000))'],
    ['bucket_counts(first_token, calls), bucket_counts(duration, calls)',
     'coalesce(sum(calls * first_token), 0), coalesce(sum(calls * duration), 0)'],
    ['latency_bucket(first_token_at_ms', 'latency_count(first_token_at_ms'],
    ['latency_bucket(finished_at_ms', 'latency_count(finished_at_ms'],
    ['min(first_token) <> max(first_token) OR min(duration) <> max(duration)',
     'sum(calls * first_token) <> 0 OR sum(calls * duration) <> 0'],
    ['add_counts(known.first_tokens, EXCLUDED.first_tokens)', 'known.first_tokens + EXCLUDED.first_tokens'],
    ['add_counts(known.durations, EXCLUDED.durations)', 'known.durations + EXCLUDED.durations']
  ];
  name text;
  definition text;
  edit text[];
BEGIN
  FOREACH name IN ARRAY ARRAY['call_records_add_totals', 'call_records_change_totals'] LOOP
    definition := pg_get_functiondef(name::regproc);
    FOREACH edit SLICE 1 IN ARRAY edits LOOP
      IF position(edit[1] IN definition) = 0 THEN
        RAISE EXCEPTION 'the function % has no "%"', name, edit[1];
      END IF;
      definition := replace(definition, edit[1], edit[2]);
    END LOOP;
    EXECUTE definition;
  END LOOP;
END;
$migration$;
DROP AGGREGATE bucket_counts(integer, integer);
DROP FUNCTION count_bucket, add_counts;

INSERT INTO usage_totals
  (account_id, width_ms, starts_at_ms, key_id, requested_model, offer_id, model_id, is_byok, calls, failed_calls,
   charged_calls, prompt_tokens, completion_tokens, charge_pico, cost_pico, broken_prompt_tokens, broken_completion_tokens,
   broken_pico, cacheable_tokens, cached_tokens, uncached_prompt_pico, cache_saved_pico, first_tokens, durations)
SELECT account_id, 3600000, starts_at_ms - starts_at_ms % 3600000, key_id, requested_model, offer_id, model_id, is_byok,
       sum(calls), sum(failed_calls), sum(charged_calls), sum(prompt_tokens), sum(completion_tokens), sum(charge_pico),
       sum(cost_pico), sum(broken_prompt_tokens), sum(broken_completion_tokens), sum(broken_pico), sum(cacheable_tokens),
       sum(cached_tokens), sum(uncached_prompt_pico), sum(cache_saved_pico), sum(first_tokens), sum(durations)
FROM usage_totals WHERE width_ms = 900000
GROUP BY 1, 3, 4, 5, 6, 7, 8;

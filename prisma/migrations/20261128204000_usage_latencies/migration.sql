-- How long calls took, beside what they used: numbers of calls by how long the first token and the whole call took, so that
-- medians of any period are read from totals. Calls so far have none: their periods have no medians.

-- The number of a duration: 0 below 19 ms, then four to each doubling, 63 from a quarter of an hour on.
CREATE OR REPLACE FUNCTION latency_bucket(ms bigint) RETURNS integer IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT CASE WHEN ms IS NOT NULL THEN least(63, floor(4 * ln(greatest(ms, 16) / 16.0::float8) / ln(2.0::float8))::integer) END
$$;

-- Counts by number, as an array whose first index is the least number: calls of a model are much alike, so it is short.
CREATE OR REPLACE FUNCTION count_bucket(counts integer[], bucket integer, calls integer) RETURNS integer[]
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
  counts[bucket] := coalesce(counts[bucket], 0) + calls;
  RETURN counts;
END;
$$;
CREATE OR REPLACE AGGREGATE bucket_counts(bucket integer, calls integer) (sfunc = count_bucket, stype = integer[], initcond = '{}');

CREATE OR REPLACE FUNCTION add_counts(known integer[], added integer[]) RETURNS integer[]
IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
  FOR bucket IN coalesce(array_lower(added, 1), 1) .. coalesce(array_upper(added, 1), 0) LOOP
    IF added[bucket] <> 0 THEN known[bucket] := coalesce(known[bucket], 0) + added[bucket]; END IF;
  END LOOP;
  RETURN known;
END;
$$;

ALTER TABLE usage_totals
  ADD COLUMN first_tokens integer[] NOT NULL DEFAULT '{}',
  ADD COLUMN durations    integer[] NOT NULL DEFAULT '{}';

-- The same functions, which fill the two in the insert of the totals.
DO $migration$
DECLARE
  edits CONSTANT text[] := ARRAY[
    ['uncached_prompt_pico, cache_saved_pico)', 'uncached_prompt_pico, cache_saved_pico, first_tokens, durations)'],
    ['sum(long * saved)', 'sum(long * saved), bucket_counts(first_token, calls), bucket_counts(duration, calls)'],
    ['AS saved', 'AS saved, latency_bucket(first_token_at_ms - admitted_at_ms) AS first_token,
           latency_bucket(finished_at_ms - admitted_at_ms) AS duration'],
    ['->>''costPico'')::numeric, 0, 0, 0, 0, 0', '->>''costPico'')::numeric, 0, 0, 0, 0, 0, NULL, NULL'],
    ['OR sum(broken) <> 0', 'OR sum(broken) <> 0 OR min(first_token) <> max(first_token) OR min(duration) <> max(duration)'],
    ['known.cache_saved_pico + EXCLUDED.cache_saved_pico', 'known.cache_saved_pico + EXCLUDED.cache_saved_pico,
    first_tokens = add_counts(known.first_tokens, EXCLUDED.first_tokens),
    durations = add_counts(known.durations, EXCLUDED.durations)']
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

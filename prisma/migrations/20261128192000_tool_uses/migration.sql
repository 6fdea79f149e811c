-- What the provider runs for a call besides the model, and prompt tokens that it keeps in its cache for an hour: prices of the
-- catalog, charged by usage. Absent prices are null, as those of the other parts.
ALTER TABLE rate_versions
  ADD COLUMN cache_write_hour      bigint,
  ADD COLUMN list_cache_write_hour bigint,
  ADD COLUMN web_search          bigint,
  ADD COLUMN list_web_search     bigint,
  ADD COLUMN code_execution      bigint,
  ADD COLUMN list_code_execution bigint;

ALTER TABLE call_records
  ADD COLUMN cache_write_hour_tokens    integer NOT NULL DEFAULT 0,
  ADD COLUMN cache_write_hour_rate_pico bigint,
  ADD COLUMN cache_write_hour_cost_pico bigint,
  ADD COLUMN web_searches             integer NOT NULL DEFAULT 0,
  ADD COLUMN web_search_rate_pico     bigint,
  ADD COLUMN web_search_cost_pico     bigint,
  ADD COLUMN code_executions          integer NOT NULL DEFAULT 0,
  ADD COLUMN code_execution_rate_pico bigint,
  ADD COLUMN code_execution_cost_pico bigint;

-- The totals of calls have their cost at the provider: the same functions, with these parts in the sum. Calls so far have none.
DO $migration$
DECLARE
  before CONSTANT text := '+ units * coalesce(units_cost_pico, 0)::numeric';
  parts CONSTANT text := '
               + cache_write_hour_tokens * (coalesce(cache_write_hour_cost_pico, cache_write_cost_pico, prompt_cost_pico)
                                          - coalesce(cache_write_cost_pico, prompt_cost_pico))::numeric
               + web_searches * coalesce(web_search_cost_pico, 0)::numeric
               + code_executions * coalesce(code_execution_cost_pico, 0)::numeric';
  name text;
  definition text;
BEGIN
  FOREACH name IN ARRAY ARRAY['call_records_add_totals', 'call_records_change_totals'] LOOP
    definition := pg_get_functiondef(name::regproc);
    IF position(before IN definition) = 0 THEN
      RAISE EXCEPTION 'the function % does not sum the cost of units', name;
    END IF;
    EXECUTE replace(definition, before, before || parts);
  END LOOP;
END;
$migration$;

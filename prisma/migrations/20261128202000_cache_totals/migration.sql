-- What prompt caches of providers did for prompts that are long enough for one (1,024 tokens): the tokens of these, those read
-- from a cache, what they would have cost without, and what was saved: by reads below the price of the prompt, less writes
-- above it. Earlier calls are in none of the four, so that their ratios are right from now on.
ALTER TABLE usage_totals
  ADD COLUMN cacheable_tokens     bigint  NOT NULL DEFAULT 0,
  ADD COLUMN cached_tokens        bigint  NOT NULL DEFAULT 0,
  ADD COLUMN uncached_prompt_pico numeric NOT NULL DEFAULT 0,
  ADD COLUMN cache_saved_pico     numeric NOT NULL DEFAULT 0;

-- The same functions, with these sums beside the others.
DO $migration$
DECLARE
  edits CONSTANT text[][] := ARRAY[
    ['broken_completion_tokens, broken_pico)', 'broken_completion_tokens, broken_pico,
     cacheable_tokens, cached_tokens, uncached_prompt_pico, cache_saved_pico)'],
    ['sum(broken_prompt), sum(broken_completion), sum(broken)
  FROM', 'sum(broken_prompt), sum(broken_completion), sum(broken),
         sum(long * prompt_tokens), sum(long * cached_tokens), sum(long * uncached), sum(long * saved)
  FROM'],
    ['0::numeric AS broken
', '0::numeric AS broken,
           CASE WHEN prompt_tokens >= 1024 THEN sign ELSE 0 END AS long, prompt_tokens, cached_tokens,
           coalesce(
             (prompt_tokens - audio_tokens - image_tokens) * prompt_cost_pico::numeric
               + audio_tokens * coalesce(prompt_audio_cost_pico, prompt_cost_pico)::numeric
               + image_tokens * coalesce(prompt_image_cost_pico, prompt_cost_pico)::numeric, 0) AS uncached,
           coalesce(
             cached_tokens * (prompt_cost_pico - coalesce(cache_read_cost_pico, prompt_cost_pico))::numeric
               - cache_write_tokens * (coalesce(cache_write_cost_pico, prompt_cost_pico) - prompt_cost_pico)::numeric
               - cache_write_hour_tokens * (coalesce(cache_write_hour_cost_pico, cache_write_cost_pico, prompt_cost_pico)
                                          - coalesce(cache_write_cost_pico, prompt_cost_pico))::numeric, 0) AS saved
'],
    ['sign * (attempt->''spent''->>''costPico'')::numeric
', 'sign * (attempt->''spent''->>''costPico'')::numeric, 0, 0, 0, 0, 0
'],
    ['broken_pico = known.broken_pico + EXCLUDED.broken_pico;', 'broken_pico = known.broken_pico + EXCLUDED.broken_pico,
    cacheable_tokens = known.cacheable_tokens + EXCLUDED.cacheable_tokens,
    cached_tokens = known.cached_tokens + EXCLUDED.cached_tokens,
    uncached_prompt_pico = known.uncached_prompt_pico + EXCLUDED.uncached_prompt_pico,
    cache_saved_pico = known.cache_saved_pico + EXCLUDED.cache_saved_pico;']
  ];
  edit text[];
  name text;
  definition text;
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

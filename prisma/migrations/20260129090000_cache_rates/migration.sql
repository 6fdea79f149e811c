-- Tokens read from and written to providers' prompt caches, and their rates where a call has some. A constant default
-- and nullable columns change no row.
ALTER TABLE call_records
  ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN cache_read_rate_pico BIGINT,
  ADD COLUMN cache_write_rate_pico BIGINT,
  ADD COLUMN cache_read_cost_pico BIGINT,
  ADD COLUMN cache_write_cost_pico BIGINT;

ALTER TABLE rate_versions
  ADD COLUMN cache_read BIGINT,
  ADD COLUMN cache_write BIGINT,
  ADD COLUMN list_cache_read BIGINT,
  ADD COLUMN list_cache_write BIGINT;

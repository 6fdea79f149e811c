-- What calls use that is not priced by tokens (searches, for example), and its rates. A constant default and nullable
-- columns change no row.
ALTER TABLE call_records
  ADD COLUMN units INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN unit TEXT,
  ADD COLUMN units_rate_pico BIGINT,
  ADD COLUMN units_cost_pico BIGINT;

ALTER TABLE rate_versions
  ADD COLUMN units BIGINT,
  ADD COLUMN list_units BIGINT;

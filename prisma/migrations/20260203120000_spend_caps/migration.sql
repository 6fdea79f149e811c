-- What all keys of an account may spend in a month (UTC), pico-USD; null: no cap.
ALTER TABLE accounts
  ADD COLUMN monthly_limit_pico bigint CHECK (monthly_limit_pico >= 0);

-- What an account spent in a month is read from this index alone.
CREATE INDEX call_records_account_id_admitted_at_ms_charge_idx
  ON call_records (account_id, admitted_at_ms) INCLUDE (charge_pico);
DROP INDEX call_records_account_id_admitted_at_ms_idx;
ALTER INDEX call_records_account_id_admitted_at_ms_charge_idx RENAME TO call_records_account_id_admitted_at_ms_idx;

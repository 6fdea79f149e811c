-- What Redis held when a call ended, where that was not what its record says it held.
ALTER TABLE call_records ADD COLUMN redis_hold_pico BIGINT;

-- Transactions of other databases of the server cannot write rows of this one, so they no longer hold the horizon back.

-- All transactions of this database below it have ended, and every later statement with a snapshot of its own sees their rows. The
-- order matters: a transaction below `next_xact` had its id before the sessions are read, so it is found there or has ended; one
-- that is prepared meanwhile is found after them. Sessions show their ids to every role. Where the caller's later statements
-- would see older rows, or where sessions say nothing, the oldest transaction of the server counts.
CREATE OR REPLACE FUNCTION written_xact_horizon() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  next_xact bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  in_sessions bigint;
  in_prepared bigint;
BEGIN
  IF pg_is_in_recovery() OR current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RETURN pg_snapshot_xmin(pg_current_snapshot())::text::bigint + written_xact_offset();
  END IF;
  PERFORM pg_stat_clear_snapshot();
  -- How far an id of 32 bits is behind next_xact; negative for a later one.
  SELECT max(mod(mod(next_xact, 4294967296) - backend_xid::text::bigint + 6442450944, 4294967296) - 2147483648)
  INTO in_sessions FROM pg_stat_activity
  WHERE backend_xid IS NOT NULL
    AND (datid IS NULL OR datid = 0 OR datid = (SELECT oid FROM pg_database WHERE datname = current_database()));
  SELECT max(mod(mod(next_xact, 4294967296) - transaction::text::bigint + 6442450944, 4294967296) - 2147483648)
  INTO in_prepared FROM pg_prepared_xacts WHERE database = current_database();
  RETURN next_xact - greatest(in_sessions, in_prepared, 0) + written_xact_offset();
END;
$$;

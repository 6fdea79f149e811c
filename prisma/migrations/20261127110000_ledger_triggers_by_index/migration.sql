-- A session keeps the plans of these triggers. One made while a partition is new reads the whole partition for each row that a
-- settlement adds, until autovacuum has analyzed it: a minute at the start of a month, and after an installation.
DO $migration$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['ledger_check_entries', 'ledger_check_transactions', 'ledger_entries_add_totals'] LOOP
    EXECUTE format('ALTER FUNCTION %I() SET enable_seqscan = off', name);
    EXECUTE format('ALTER FUNCTION %I() SET enable_hashjoin = off', name);
    EXECUTE format('ALTER FUNCTION %I() SET enable_mergejoin = off', name);
  END LOOP;
END;
$migration$;

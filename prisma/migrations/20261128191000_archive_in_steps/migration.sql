-- A closed month is counted in steps, each of a bounded number of rows and a transaction of its own, so that the one that
-- removes it does not grow with its calls: audits and vacuum wait for the oldest transaction. Its rows do not change, so
-- counting resumes where it stopped.

-- How far each table of a closed month has been counted.
CREATE TABLE archive_counts (
  month       date NOT NULL REFERENCES archived_months,
  table_name  text NOT NULL,
  -- Rows up to this key have been counted; null: all.
  counted_to  text DEFAULT '',
  counted     bigint NOT NULL DEFAULT 0,
  -- The charges of the counted calls.
  charge_pico numeric NOT NULL DEFAULT 0,
  PRIMARY KEY (month, table_name)
);

-- The sums of the counted entries, by what will carry them forward.
CREATE TABLE archive_sums (
  month          date NOT NULL REFERENCES archived_months,
  account_id     text NOT NULL,
  kind           ledger_kind NOT NULL,
  ledger_account text NOT NULL,
  amount_pico    numeric NOT NULL,
  PRIMARY KEY (month, account_id, kind, ledger_account)
);

-- Counts about `at_most` further rows of one table of a closed month; false: none is left. Rows of one key are counted together.
CREATE FUNCTION count_closed_month(counting date, at_most integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  part record;
  last text;
  range text;
  found_rows bigint;
  found_pico numeric := 0;
BEGIN
  PERFORM FROM archived_months WHERE month = counting AND archived_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION '% is not closed, or archived already', to_char(counting, 'YYYY-MM');
  END IF;
  INSERT INTO archive_counts (month, table_name)
  SELECT counting, name FROM partitioned_tables() WHERE name <> 'prompt_logs' ON CONFLICT DO NOTHING;
  SELECT table_name, key, counted_to, month_partition(table_name, counting) AS partition INTO part
  FROM archive_counts JOIN partitioned_tables() ON name = table_name
  WHERE month = counting AND counted_to IS NOT NULL ORDER BY table_name LIMIT 1;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  EXECUTE format('SELECT %1$I FROM %2$I WHERE %1$I > %3$L ORDER BY %1$I OFFSET %4$s LIMIT 1',
                 part.key, part.partition, part.counted_to, at_most - 1) INTO last;
  range := format('source.%I > %L', part.key, part.counted_to);
  IF last IS NOT NULL THEN
    range := range || format(' AND source.%I <= %L', part.key, last);
  END IF;
  IF part.table_name = 'call_records' THEN
    EXECUTE format('SELECT count(*), coalesce(sum(charge_pico), 0) FROM %I AS source WHERE %s', part.partition, range)
      INTO found_rows, found_pico;
  ELSE
    EXECUTE format('SELECT count(*) FROM %I AS source WHERE %s', part.partition, range) INTO found_rows;
  END IF;
  IF part.table_name = 'ledger_entries' THEN
    EXECUTE format($sums$
      INSERT INTO archive_sums AS known (month, account_id, kind, ledger_account, amount_pico)
      SELECT %L::date, transaction.account_id,
             CASE source.kind WHEN 'capture' THEN 'carried_charges' ELSE 'carried_credits' END::ledger_kind,
             source.ledger_account, sum(source.amount_pico)
      FROM %I AS source JOIN %I AS transaction ON transaction.id = source.transaction_id AND transaction.kind = source.kind
      WHERE %s GROUP BY 1, 2, 3, 4
      ON CONFLICT (month, account_id, kind, ledger_account) DO UPDATE SET amount_pico = known.amount_pico + EXCLUDED.amount_pico$sums$,
      counting, part.partition, month_partition('ledger_transactions', counting), range);
  END IF;
  UPDATE archive_counts SET counted_to = last, counted = counted + found_rows, charge_pico = charge_pico + found_pico
  WHERE month = counting AND table_name = part.table_name;
  RETURN true;
END;
$$;

-- As before, by the counts: removes a closed month from the database, carries its sums forward, and records its archive.
-- `expected` is what was counted in the files: rows by table, the number of carried entries and their total. Any difference
-- refuses. It grows with the accounts of the month; what is left to count is counted here.
CREATE OR REPLACE FUNCTION archive_month(archiving date, expected jsonb, manifest text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  partitions jsonb := (SELECT jsonb_object_agg(name, month_partition(name, archiving)) FROM partitioned_tables());
  item record;
  found_rows bigint;
  found_total numeric;
  is_kept boolean;
BEGIN
  WHILE count_closed_month(archiving, 50000) LOOP
  END LOOP;
  FOR item IN SELECT * FROM jsonb_each_text(expected->'rows') LOOP
    SELECT counted INTO found_rows FROM archive_counts WHERE month = archiving AND table_name = item.key;
    IF found_rows IS DISTINCT FROM item.value::bigint THEN
      RAISE EXCEPTION '% has % rows of %, its archive %', partitions->>item.key, found_rows, item.key, item.value;
    END IF;
  END LOOP;
  SELECT count(*), coalesce(sum(abs(amount_pico)), 0) INTO found_rows, found_total
  FROM archive_sums WHERE month = archiving AND amount_pico <> 0;
  IF found_rows <> (expected->>'carried_entries')::bigint OR found_total <> (expected->>'carried_pico')::numeric THEN
    RAISE EXCEPTION '% carries % entries of %, its archive % of %', to_char(archiving, 'YYYY-MM'), found_rows, found_total,
      expected->>'carried_entries', expected->>'carried_pico';
  END IF;
  -- Dated to the end of the month, so that a later statement opens with it.
  WITH carried AS MATERIALIZED (
    SELECT carried_id(archiving, account_id) AS id, account_id, kind, ledger_account, amount_pico::bigint
    FROM archive_sums WHERE month = archiving AND amount_pico <> 0
  ), transactions AS (
    INSERT INTO ledger_transactions (id, kind, account_id, created_at)
    SELECT DISTINCT id, kind, account_id, (archiving + interval '1 month') AT TIME ZONE 'UTC' - interval '1 millisecond' FROM carried
  )
  INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
  SELECT id, kind, ledger_account, amount_pico FROM carried;
  UPDATE archived_months SET archived_at = now(), calls = counts.counted, charge_pico = counts.charge_pico, manifest_sha256 = manifest
  FROM archive_counts AS counts WHERE archived_months.month = archiving AND counts.month = archiving AND table_name = 'call_records';
  DELETE FROM archive_sums WHERE month = archiving;
  DELETE FROM archive_counts WHERE month = archiving;
  IF partitions->>'prompt_logs' IS NOT NULL THEN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', partitions->>'prompt_logs') INTO is_kept;
    IF is_kept THEN
      partitions := partitions - 'prompt_logs';
    END IF;
  END IF;
  -- Others wait behind a lock that is waited for, so it is tried shortly and often, with all locks or none.
  PERFORM set_config('lock_timeout', '500ms', true);
  FOR attempt IN 1..60 LOOP
    BEGIN
      EXECUTE (SELECT format('DROP TABLE %s', string_agg(format('%I', partition.name), ', '))
               FROM partitioned_tables() AS parent CROSS JOIN LATERAL (SELECT partitions->>parent.name AS name) AS partition
               WHERE partition.name IS NOT NULL);
      RETURN;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      IF attempt = 60 THEN
        RAISE;
      END IF;
    END;
    PERFORM pg_sleep(0.5);
  END LOOP;
END;
$$;

-- Tables that grow with every call, and the record of operators' actions, are partitioned by month (UTC). Their keys begin
-- with a ULID, which begins with its time, so a month is a range of ids: primary keys and ON CONFLICT stay as they are.
-- What was there becomes the first partition and is not copied, except the few ledger transactions that are of no call.

-- Whether the record replaced one without a serving offer; null: no. A partitioned table returns no xmax, which told it.
ALTER TABLE call_records ADD COLUMN supersedes boolean;

-- The partitioned tables, their keys, and what ids of a month begin with. Ids of other kinds in tables with `others` (top-ups,
-- credits, an operator's references) have partitions of their own, which no month closes.
CREATE FUNCTION partitioned_tables() RETURNS TABLE (name text, key text, prefix text, others boolean) LANGUAGE sql IMMUTABLE AS $$
  VALUES ('call_records', 'id', 'chatcmpl_', false),
         ('ledger_transactions', 'id', 'chatcmpl_', true),
         ('ledger_entries', 'transaction_id', 'chatcmpl_', true),
         ('ledger_notes', 'id', 'chatcmpl_', true),
         ('prompt_logs', 'call_id', 'chatcmpl_', false),
         ('operator_actions', 'id', 'act_', false)
$$;

-- The least id of a month (its first day): the prefix, and the ten characters of a ULID's time.
CREATE FUNCTION month_bound(prefix text, month date) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT prefix || string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((unix_ms >> (5 * n)) & 31)::integer + 1, 1), '' ORDER BY n DESC)
  FROM (SELECT (month - date '1970-01-01') * 86400000::bigint AS unix_ms) AS time, generate_series(0, 9) AS n
$$;

-- Copies triggers: a statement that names a partition runs the partition's statement triggers, not those of the table.
-- Row triggers are copied by PostgreSQL.
CREATE FUNCTION copy_triggers(source regclass, target regclass, with_rows boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  definition text;
BEGIN
  FOR definition IN
    SELECT pg_get_triggerdef(oid) FROM pg_trigger
    WHERE tgrelid = source AND NOT tgisinternal AND (with_rows OR tgtype & 1 = 0)
  LOOP
    EXECUTE regexp_replace(definition, ' ON \S+ ', format(' ON %s ', target));
  END LOOP;
END;
$$;

-- A table of its own that can be attached as a partition, with the triggers of the partitioned table unless rows are copied to it.
CREATE FUNCTION create_partition_table(parent text, partition text, with_triggers boolean DEFAULT true) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES INCLUDING STORAGE)', partition, parent);
  IF with_triggers THEN
    PERFORM copy_triggers(parent::regclass, partition::regclass, false);
  END IF;
END;
$$;

-- Moves rows between tables as they are, without the triggers that keep rows from changing.
CREATE FUNCTION move_rows(source text, target text, condition text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  moved bigint;
BEGIN
  EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', source);
  EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', target);
  EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %s RETURNING *) INSERT INTO %I SELECT * FROM moved', source, condition, target);
  GET DIAGNOSTICS moved = ROW_COUNT;
  EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', source);
  EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', target);
  RETURN moved;
END;
$$;

-- Creates the partitions that are missing for the months from this one to `last`, and for earlier ones that have rows, and
-- returns their number. Rows of a month that came before its partition did are in the default partition and move. Readers and writers go on, except for
-- the moment in which the default partition is locked.
CREATE FUNCTION create_month_partitions(last date, of_table text DEFAULT NULL) RETURNS integer LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
DECLARE
  parent record;
  month date;
  partition text;
  created integer := 0;
  bounds text;
  is_needed boolean;
  this_month date := date_trunc('month', now() AT TIME ZONE 'UTC');
BEGIN
  FOR parent IN SELECT * FROM partitioned_tables() WHERE name = of_table OR of_table IS NULL LOOP
    FOR month IN
      SELECT months::date FROM generate_series(this_month - interval '2 years', last, interval '1 month') AS months
    LOOP
      partition := parent.name || to_char(month, '_YYYY_MM');
      CONTINUE WHEN month <= (SELECT max(archived.month) FROM archived_months AS archived);
      CONTINUE WHEN EXISTS (
        SELECT FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
        WHERE inhparent = parent.name::regclass
          AND (child.relname = partition
               OR child.relname LIKE parent.name || '\_until\_%' AND right(child.relname, 7) >= to_char(month, 'YYYY_MM')));
      bounds := format('%1$I >= %2$L AND %1$I < %3$L', parent.key, month_bound(parent.prefix, month),
                       month_bound(parent.prefix, (month + interval '1 month')::date));
      IF month < this_month THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE %s)', parent.name || '_unplaced', bounds) INTO is_needed;
        CONTINUE WHEN NOT is_needed;
      END IF;
      PERFORM create_partition_table(parent.name, partition);
      EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent.name || '_unplaced');
      PERFORM move_rows(parent.name || '_unplaced', partition, bounds);
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent.name, partition,
                     month_bound(parent.prefix, month), month_bound(parent.prefix, (month + interval '1 month')::date));
      created := created + 1;
    END LOOP;
  END LOOP;
  RETURN created;
END;
$$;

-- The archive. A month is closed, exported to files, verified, and then leaves the database for good. Months leave in their order.
-- What its calls changed is carried forward in the ledger itself: one transaction for each account, so that the entries of
-- every ledger account sum to what they did.

ALTER TYPE ledger_kind ADD VALUE 'carried_charges';
ALTER TYPE ledger_kind ADD VALUE 'carried_credits';

-- As before, without what is carried forward: totals keep the months that left.
CREATE OR REPLACE FUNCTION ledger_entries_add_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_totals AS known (account_id, kind, ledger_account, entries, amount_pico)
  SELECT owner.account_id, entry.kind, entry.ledger_account, count(*), sum(entry.amount_pico)
  FROM added_entries AS entry
  JOIN ledger_transactions AS owner ON owner.id = entry.transaction_id AND owner.kind = entry.kind
  WHERE entry.kind NOT IN ('carried_charges', 'carried_credits')
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (account_id, kind, ledger_account) DO UPDATE SET
    entries = known.entries + EXCLUDED.entries, amount_pico = known.amount_pico + EXCLUDED.amount_pico;
  RETURN NULL;
END;
$$;

CREATE TABLE archived_months (
  -- The first day of the month. Of the first partition, which may hold more: the last of its months.
  month           date PRIMARY KEY CHECK (extract(day FROM month) = 1),
  -- Since then its rows do not change.
  closed_at       timestamptz(3) NOT NULL DEFAULT now(),
  -- Null: it is closed, and its rows are here.
  archived_at     timestamptz(3),
  calls           bigint,
  charge_pico     numeric,
  -- SHA-256 of the manifest.
  manifest_sha256 text CHECK (manifest_sha256 ~ '^[0-9a-f]{64}$'),
  CHECK ((archived_at IS NULL) = (manifest_sha256 IS NULL))
);
CREATE TRIGGER archived_months_append_only BEFORE DELETE OR TRUNCATE ON archived_months
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- Ids from here on are not archived.
CREATE FUNCTION archived_before(prefix text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce(month_bound(prefix, (max(month) + interval '1 month')::date), prefix || '0')
  FROM archived_months WHERE archived_at IS NOT NULL
$$;

-- When the month of a call was archived; null: it is not.
CREATE FUNCTION archived_at(call_id text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT archived_at FROM archived_months
  WHERE archived_at IS NOT NULL AND call_id >= 'chatcmpl_0' AND call_id < month_bound('chatcmpl_', (month + interval '1 month')::date)
  ORDER BY month LIMIT 1
$$;

-- A settlement that is repeated after its month was archived must not charge again. Arguments: key and prefix of the table.
CREATE FUNCTION refuse_archived_month() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  id text := to_jsonb(NEW)->>TG_ARGV[0];
BEGIN
  IF id >= TG_ARGV[1] || '0' AND id < archived_before(TG_ARGV[1]) THEN
    RAISE EXCEPTION '% refused: its month is archived', id USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END;
$$;

-- Labels are not archived, so that they are deleted with their account.
CREATE FUNCTION refuse_closed_month() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - 'labels' - 'written_xact' = to_jsonb(OLD) - 'labels' - 'written_xact' THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION '% of % refused: its month is closed for the archive', TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END;
$$;

-- The partition of a month; null if there is none.
CREATE FUNCTION month_partition(parent text, month date) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT child.relname::text FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
  WHERE inhparent = parent::regclass
    AND child.relname IN (parent || to_char(month, '_YYYY_MM'), parent || to_char(month, '_"until"_YYYY_MM'))
$$;

-- The rows of a month do not change from now on. Idempotent.
CREATE FUNCTION freeze_month(closing date) RETURNS void LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
DECLARE
  partition text;
BEGIN
  FOR partition IN SELECT month_partition(name, closing) FROM partitioned_tables() WHERE name <> 'prompt_logs' LOOP
    CONTINUE WHEN partition IS NULL OR EXISTS (SELECT FROM pg_trigger WHERE tgrelid = partition::regclass AND tgname = 'closed_month');
    EXECUTE format('CREATE TRIGGER closed_month BEFORE INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION refuse_closed_month()',
                   partition);
  END LOOP;
END;
$$;

-- Closes a month: its rows only leave. Idempotent.
CREATE FUNCTION close_month(closing date) RETURNS void LANGUAGE sql AS $$
  INSERT INTO archived_months (month) VALUES (closing) ON CONFLICT DO NOTHING;
  SELECT freeze_month(closing);
$$;

-- Creates the tables of the months from `first` on into which the first partition is split, and returns them. The table of
-- the oldest month takes what is older. Idempotent.
CREATE FUNCTION create_split_tables(first date, until date)
RETURNS TABLE (source text, target text, key text, "from" text, "to" text) LANGUAGE plpgsql AS $$
DECLARE
  parent record;
  month date;
BEGIN
  FOR parent IN SELECT * FROM partitioned_tables() AS known WHERE known.name <> 'prompt_logs' LOOP
    FOR month IN SELECT months::date FROM generate_series(first, until, interval '1 month') AS months LOOP
      source := month_partition(parent.name, until);
      target := parent.name || to_char(month, '_YYYY_MM');
      key := parent.key;
      "from" := CASE WHEN month > first THEN month_bound(parent.prefix, month) WHEN parent.others THEN parent.prefix || '0' ELSE '' END;
      "to" := month_bound(parent.prefix, (month + interval '1 month')::date);
      IF to_regclass(target) IS NULL THEN
        PERFORM create_partition_table(parent.name, target, false);
        -- Proves the bounds, so that attaching the table does not read it.
        EXECUTE format('ALTER TABLE %1$I ADD CONSTRAINT of_its_month CHECK (%2$I >= %3$L AND %2$I < %4$L)', target, parent.key,
                       "from", "to");
      END IF;
      RETURN NEXT;
    END LOOP;
  END LOOP;
END;
$$;

-- Puts the tables of the months in the place of the first partition, whose rows they have.
CREATE FUNCTION finish_split(first date, until date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent record;
  month date;
  target text;
BEGIN
  PERFORM set_config('lock_timeout', '500ms', true);
  FOR attempt IN 1..60 LOOP
    BEGIN
      FOR parent IN SELECT * FROM partitioned_tables() AS known WHERE known.name <> 'prompt_logs' LOOP
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent.name, month_partition(parent.name, until));
      END LOOP;
      -- Labels may have been deleted since they were copied.
      FOR month IN SELECT months::date FROM generate_series(first, until, interval '1 month') AS months LOOP
        EXECUTE format('UPDATE %I SET labels = NULL WHERE labels IS NOT NULL AND account_id IN (SELECT id FROM accounts WHERE deleted_at IS NOT NULL)',
                       to_char(month, '"call_records_"YYYY_MM'));
      END LOOP;
      FOR parent IN SELECT * FROM partitioned_tables() AS known WHERE known.name <> 'prompt_logs' LOOP
        FOR month IN SELECT months::date FROM generate_series(first, until, interval '1 month') AS months LOOP
          target := parent.name || to_char(month, '_YYYY_MM');
          PERFORM copy_triggers(parent.name::regclass, target::regclass, false);
          EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%L)', parent.name, target,
                         CASE WHEN month > first THEN quote_literal(month_bound(parent.prefix, month))
                              WHEN parent.others THEN quote_literal(parent.prefix || '0') ELSE 'MINVALUE' END,
                         month_bound(parent.prefix, (month + interval '1 month')::date));
          EXECUTE format('ALTER TABLE %I DROP CONSTRAINT of_its_month', target);
        END LOOP;
        EXECUTE format('DROP TABLE %I', parent.name || to_char(until, '_"until"_YYYY_MM'));
      END LOOP;
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

-- Removes a closed month from the database, carries its sums forward, and records its archive. `expected` is what was counted
-- in the files: rows by table, the number of carried entries and their total. Any difference refuses.
CREATE FUNCTION archive_month(archiving date, expected jsonb, manifest text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  partitions jsonb := (SELECT jsonb_object_agg(name, month_partition(name, archiving)) FROM partitioned_tables());
  item record;
  found_calls bigint;
  found_total numeric;
BEGIN
  PERFORM FROM archived_months WHERE month = archiving AND archived_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION '% is not closed, or archived already', to_char(archiving, 'YYYY-MM');
  END IF;
  FOR item IN SELECT * FROM jsonb_each_text(expected->'rows') LOOP
    EXECUTE format('SELECT count(*) FROM %I', partitions->>item.key) INTO found_calls;
    IF found_calls <> item.value::bigint THEN
      RAISE EXCEPTION '% has % rows of %, its archive %', partitions->>item.key, found_calls, item.key, item.value;
    END IF;
  END LOOP;
  -- Dated to the end of the month, so that a later statement opens with it.
  EXECUTE format($carry$
    WITH carried AS MATERIALIZED (
      SELECT transaction.account_id, entry.ledger_account, sum(entry.amount_pico)::bigint AS amount_pico,
             CASE entry.kind WHEN 'capture' THEN 'carried_charges' ELSE 'carried_credits' END::ledger_kind AS kind
      FROM %I AS entry JOIN %I AS transaction ON transaction.id = entry.transaction_id AND transaction.kind = entry.kind
      GROUP BY 1, 2, 4 HAVING sum(entry.amount_pico) <> 0
    ), transactions AS (
      INSERT INTO ledger_transactions (id, kind, account_id, created_at)
      SELECT DISTINCT carried_id(%L, account_id), kind, account_id, (%L::date + interval '1 month') AT TIME ZONE 'UTC' - interval '1 millisecond'
      FROM carried
    ), entries AS (
      INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
      SELECT carried_id(%L, account_id), kind, ledger_account, amount_pico FROM carried
    )
    SELECT count(*), coalesce(sum(abs(amount_pico)), 0) FROM carried$carry$,
    partitions->>'ledger_entries', partitions->>'ledger_transactions', archiving, archiving, archiving)
    INTO found_calls, found_total;
  IF found_calls <> (expected->>'carried_entries')::bigint OR found_total <> (expected->>'carried_pico')::numeric THEN
    RAISE EXCEPTION '% carries % entries of %, its archive % of %', to_char(archiving, 'YYYY-MM'), found_calls, found_total,
      expected->>'carried_entries', expected->>'carried_pico';
  END IF;
  EXECUTE format('SELECT count(*), coalesce(sum(charge_pico), 0) FROM %I', partitions->>'call_records') INTO found_calls, found_total;
  UPDATE archived_months SET archived_at = now(), calls = found_calls, charge_pico = found_total, manifest_sha256 = manifest
  WHERE month = archiving;
  IF partitions->>'prompt_logs' IS NOT NULL THEN
    EXECUTE format('SELECT count(*) FROM %I', partitions->>'prompt_logs') INTO found_calls;
    IF found_calls > 0 THEN
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

-- The id of the transaction that carries a month of an account forward.
CREATE FUNCTION carried_id(month date, account_id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'carried_' || to_char(month, 'YYYY-MM') || '_' || account_id
$$;

-- Makes a table partitioned, with itself as the first partition: of everything until the end of this month.
CREATE FUNCTION partition_table(parent text, key text, prefix text, others boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  this_month date := date_trunc('month', now() AT TIME ZONE 'UTC');
  bound text := month_bound(prefix, (this_month + interval '1 month')::date);
  first text := parent || to_char(this_month, '_"until"_YYYY_MM');
  item record;
BEGIN
  EXECUTE format('ALTER TABLE %I RENAME TO %I', parent, first);
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE) PARTITION BY RANGE (%I)', parent, first, key);
  -- The indexes keep their names on the new table; those of the partition say of which they are.
  FOR item IN
    SELECT index.relname AS name, pg_get_indexdef(index.oid) AS definition, pg_get_constraintdef(con.oid) AS "constraint"
    FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
    LEFT JOIN pg_constraint AS con ON con.conindid = index.oid AND con.conrelid = indrelid AND con.contype IN ('p', 'u')
    WHERE indrelid = first::regclass
  LOOP
    EXECUTE format('ALTER INDEX %I RENAME TO %I', item.name, replace(item.name, parent, first));
    IF item."constraint" IS NOT NULL THEN
      EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', parent, item.name, item."constraint");
    ELSE
      EXECUTE regexp_replace(item.definition, ' ON \S+ ', format(' ON %I ', parent));
    END IF;
  END LOOP;
  PERFORM copy_triggers(first::regclass, parent::regclass, true);
  FOR item IN SELECT tgname AS name FROM pg_trigger WHERE tgrelid = first::regclass AND NOT tgisinternal AND tgtype & 1 = 1 LOOP
    EXECUTE format('DROP TRIGGER %I ON %I', item.name, first);
  END LOOP;
  -- Where a month has no partition: settlement must not fail because of that.
  PERFORM create_partition_table(parent, parent || '_unplaced');
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', parent, parent || '_unplaced');
  EXECUTE format('CREATE TRIGGER archived_month BEFORE INSERT ON %I FOR EACH ROW EXECUTE FUNCTION refuse_archived_month(%L, %L)',
                 parent || '_unplaced', key, prefix);
  IF others THEN
    PERFORM create_partition_table(parent, parent || '_below');
    PERFORM move_rows(first, parent || '_below', format('%I < %L', key, prefix || '0'));
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', parent, parent || '_below', prefix || '0');
    PERFORM create_partition_table(parent, parent || '_above');
    PERFORM move_rows(first, parent || '_above', format('%I >= %L', key, prefix || '8'));
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (MAXVALUE)', parent, parent || '_above', prefix || '8');
  END IF;
  PERFORM move_rows(first, parent || '_unplaced', format('%I >= %L', key, bound));
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%L)', parent, first,
                 CASE WHEN others THEN quote_literal(prefix || '0') ELSE 'MINVALUE' END, bound);
END;
$$;

SELECT partition_table(name, key, prefix, others) FROM partitioned_tables();
DROP FUNCTION partition_table;
SELECT create_month_partitions((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '3 months')::date);

-- Autovacuum analyzes partitions, and never the table that has them.
ANALYZE call_records, ledger_transactions, ledger_entries, ledger_notes, prompt_logs, operator_actions;

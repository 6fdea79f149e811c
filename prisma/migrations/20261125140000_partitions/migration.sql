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

-- A table of its own that can be attached as a partition, with the triggers of the partitioned table.
CREATE FUNCTION create_partition_table(parent text, partition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES INCLUDING STORAGE)', partition, parent);
  PERFORM copy_triggers(parent::regclass, partition::regclass, false);
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

-- Creates the partitions that are missing for the months from this one to `last`, and returns their number. Rows of a
-- month that came before its partition did are in the default partition and move. Readers and writers go on, except for
-- the moment in which the default partition is locked.
CREATE FUNCTION create_month_partitions(last date) RETURNS integer LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
DECLARE
  parent record;
  month date;
  partition text;
  created integer := 0;
  bounds text;
BEGIN
  FOR parent IN SELECT * FROM partitioned_tables() LOOP
    FOR month IN
      SELECT months::date FROM generate_series(date_trunc('month', now() AT TIME ZONE 'UTC'), last, interval '1 month') AS months
    LOOP
      partition := parent.name || to_char(month, '_YYYY_MM');
      CONTINUE WHEN EXISTS (
        SELECT FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
        WHERE inhparent = parent.name::regclass
          AND (child.relname = partition
               OR child.relname LIKE parent.name || '\_until\_%' AND right(child.relname, 7) >= to_char(month, 'YYYY_MM')));
      PERFORM create_partition_table(parent.name, partition);
      bounds := format('%1$I >= %2$L AND %1$I < %3$L', parent.key, month_bound(parent.prefix, month),
                       month_bound(parent.prefix, (month + interval '1 month')::date));
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

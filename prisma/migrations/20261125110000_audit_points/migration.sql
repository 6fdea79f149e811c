-- What an audit has proven, so that the next one reads only what was written since.

-- Each audited row carries the id of the transaction that wrote it. Ids of calls and times of rows do not say what is new: a
-- settlement may commit late, or settle a call of last week. Every transaction below the oldest one in progress has ended, so
-- rows below it are complete. Rows from before this migration have none and are read by a full audit.

-- Raised by the audit where a database was restored into a server whose ids of transactions are lower.
CREATE FUNCTION written_xact_offset() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 0::bigint';

CREATE FUNCTION written_xact() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT pg_current_xact_id()::text::bigint + written_xact_offset()
$$;

-- All transactions below it have ended, and the statement sees their rows.
CREATE FUNCTION written_xact_horizon() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + written_xact_offset()
$$;

CREATE FUNCTION stamp_written_xact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.written_xact := written_xact();
  RETURN NEW;
END;
$$;

-- A default added afterwards leaves the rows that are there as they are: adding a column with it would rewrite the tables.
ALTER TABLE call_records ADD COLUMN written_xact bigint;
ALTER TABLE call_records ALTER COLUMN written_xact SET DEFAULT written_xact();
CREATE INDEX call_records_written_xact_idx ON call_records (written_xact) WITH (fillfactor = 100) WHERE written_xact IS NOT NULL;
CREATE TRIGGER call_records_stamped BEFORE UPDATE ON call_records FOR EACH ROW EXECUTE FUNCTION stamp_written_xact();

ALTER TABLE ledger_entries ADD COLUMN written_xact bigint;
ALTER TABLE ledger_entries ALTER COLUMN written_xact SET DEFAULT written_xact();
CREATE INDEX ledger_entries_written_xact_idx ON ledger_entries (written_xact) WITH (fillfactor = 100) WHERE written_xact IS NOT NULL;

ALTER TABLE settlement_conflicts ADD COLUMN written_xact bigint;
ALTER TABLE settlement_conflicts ALTER COLUMN written_xact SET DEFAULT written_xact();
CREATE INDEX settlement_conflicts_written_xact_idx ON settlement_conflicts (written_xact) WHERE written_xact IS NOT NULL;

ALTER TABLE payments ADD COLUMN written_xact bigint;
ALTER TABLE payments ALTER COLUMN written_xact SET DEFAULT written_xact();
CREATE INDEX payments_written_xact_idx ON payments (written_xact) WHERE written_xact IS NOT NULL;
CREATE TRIGGER payments_stamped BEFORE UPDATE ON payments FOR EACH ROW EXECUTE FUNCTION stamp_written_xact();

ALTER TABLE invoices ADD COLUMN written_xact bigint;
ALTER TABLE invoices ALTER COLUMN written_xact SET DEFAULT written_xact();
CREATE INDEX invoices_written_xact_idx ON invoices (written_xact) WHERE written_xact IS NOT NULL;

ALTER TABLE call_payments ADD COLUMN written_xact bigint;
ALTER TABLE call_payments ALTER COLUMN written_xact SET DEFAULT written_xact();
CREATE INDEX call_payments_written_xact_idx ON call_payments (written_xact) WHERE written_xact IS NOT NULL;
CREATE TRIGGER call_payments_stamped BEFORE UPDATE ON call_payments FOR EACH ROW EXECUTE FUNCTION stamp_written_xact();

-- The one row that says how far the audit is.
CREATE TABLE audit_point (
  id                smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  -- The PostgreSQL server in which proven_xact was taken: its ids of transactions mean nothing in another one.
  system_identifier text NOT NULL DEFAULT '',
  -- Rows with a lower written_xact are proven.
  proven_xact       bigint NOT NULL DEFAULT 0,
  -- All that was committed before this time is proven.
  proven_at         timestamptz(3) NOT NULL DEFAULT now(),
  -- The newest transaction of that moment; once proven_xact has passed it, that moment is proven.
  seen_xact         bigint NOT NULL DEFAULT 0,
  seen_at           timestamptz(3) NOT NULL DEFAULT now(),
  -- Sums of the proven entries in pico-USD, as text, by ledger account without what follows its colon.
  sums              jsonb NOT NULL DEFAULT '{}',
  -- False until a full audit has read all rows once: audit_balances misses those from before.
  is_established    boolean NOT NULL DEFAULT false,
  -- The last account of those that are compared in turn.
  account_after     text NOT NULL DEFAULT '',
  -- The full audit that is under way or was the last one. It counts rows with a lower written_xact than recount_xact, or none;
  -- those above are counted when they are proven.
  recount           integer NOT NULL DEFAULT 0,
  recount_xact      bigint,
  -- It has read the rows up to this id; null: none is under way.
  recount_after     text,
  recount_figures   jsonb NOT NULL DEFAULT '{}',
  -- How many months had been archived when it began.
  recount_archived  integer NOT NULL DEFAULT 0,
  recounted_at      timestamptz(3),
  -- The audit that is running. Each of its steps extends the time, and no other audit begins before it has passed.
  holder            text,
  held_until        timestamptz(3) NOT NULL DEFAULT now()
);

-- The proven sum of each ledger account. Written with audit_point in one transaction.
CREATE TABLE audit_balances (
  ledger_account text PRIMARY KEY,
  amount_pico    numeric NOT NULL,
  -- The sum that the full audit `recount` has found; of an earlier one: nothing yet.
  recounted_pico numeric NOT NULL DEFAULT 0,
  recount        integer NOT NULL DEFAULT 0,
  -- An account whose balance has not been compared since.
  is_changed     boolean NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX audit_balances_changed_idx ON audit_balances (ledger_account) WHERE is_changed;

-- What the audit found in rows that it will not read again by itself. Each audit looks at them again, and deletes those that
-- are no more.
CREATE TABLE audit_findings (
  check_name text NOT NULL,
  -- The row: of a call, a ledger transaction, a payment, an account.
  id         text NOT NULL,
  subject    text NOT NULL,
  detail     text NOT NULL,
  -- Not a discrepancy yet: what is missing may still come.
  is_waiting boolean NOT NULL,
  found_at   timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (check_name, id, subject, detail)
);

-- The audit sums what settlement credited by itself in the last days.
CREATE INDEX ledger_notes_created_at_idx ON ledger_notes (created_at);

-- Earlier audits read everything.
ALTER TABLE audit_runs ADD COLUMN is_full boolean NOT NULL DEFAULT true;

-- What providers billed by day (UTC) and offer, as imported, and what was on record then.
CREATE TABLE provider_bills (
  day                        date NOT NULL,
  -- `<provider>/<the provider's name of the model>`.
  offer_id                   text NOT NULL,
  -- Null: not stated.
  prompt_tokens              bigint,
  completion_tokens          bigint,
  cost_pico                  bigint,
  recorded_prompt_tokens     bigint NOT NULL,
  recorded_completion_tokens bigint NOT NULL,
  recorded_cost_pico         bigint NOT NULL,
  -- On the bill; otherwise only on record.
  is_billed                  boolean NOT NULL,
  -- The largest relative difference between a billed figure and ours.
  difference                 double precision NOT NULL,
  imported_at                timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (day, offer_id)
);

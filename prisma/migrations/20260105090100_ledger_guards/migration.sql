-- The ledger's promises, kept by the database itself and not only by the code in front of it:
--   1. Append-only: UPDATE, DELETE and TRUNCATE of transactions and entries are refused.
--   2. Balanced: the entries that one statement adds to a transaction sum to zero. Every statement keeps
--      that, so every transaction's sum is zero at all times, also after a later insert into an old one.
--   3. Never hollow: a transaction has entries by the end of the statement that inserts it. Writers insert
--      both in one statement (data-modifying common table expressions), since these triggers run at its end.
-- The triggers fire once a statement and look at its rows as a set, so a batch of 200 pays for them once.

CREATE FUNCTION "ledger_refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: % of % refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation',
              HINT = 'Correct a mistake with a new transaction of kind adjustment.';
END;
$$;

CREATE TRIGGER "ledger_transactions_append_only"
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_transactions"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_refuse_change"();

CREATE TRIGGER "ledger_entries_append_only"
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_entries"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_refuse_change"();

CREATE FUNCTION "ledger_refuse_unbalanced"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    unbalanced RECORD;
BEGIN
    SELECT "transaction_id", "kind", sum("amount_pico") AS "total" INTO unbalanced
        FROM "added_entries" GROUP BY 1, 2 HAVING sum("amount_pico") <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % (%) does not balance: its entries sum to %',
            unbalanced."transaction_id", unbalanced."kind", unbalanced."total"
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER "ledger_entries_balanced"
    AFTER INSERT ON "ledger_entries" REFERENCING NEW TABLE AS "added_entries"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_refuse_unbalanced"();

CREATE FUNCTION "ledger_refuse_hollow"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    hollow RECORD;
BEGIN
    SELECT "id", "kind" INTO hollow FROM "added_transactions" AS "added" WHERE NOT EXISTS (
        SELECT 1 FROM "ledger_entries" AS "entry"
        WHERE "entry"."transaction_id" = "added"."id" AND "entry"."kind" = "added"."kind"
    ) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % (%) has no entries', hollow."id", hollow."kind"
            USING ERRCODE = 'check_violation',
                  HINT = 'Insert a transaction and its entries in one statement.';
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER "ledger_transactions_not_hollow"
    AFTER INSERT ON "ledger_transactions" REFERENCING NEW TABLE AS "added_transactions"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_refuse_hollow"();

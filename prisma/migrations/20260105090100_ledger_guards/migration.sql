-- The ledger's promises, kept by the database itself and not only by the code in front of it:
--   1. Append-only: UPDATE, DELETE and TRUNCATE of transactions and entries are refused.
--   2. Balanced: the entries that one statement adds to a transaction sum to zero. Every statement keeps
--      that, so every transaction's sum is zero at all times, also after a later insert into an old one.
--   3. Never hollow: a transaction has entries by the end of the statement that inserts it. Writers insert
--      both in one statement (data-modifying common table expressions), since these triggers run at its end.
--   4. Rooted: an entry has its transaction, a transaction its account, and an account is never deleted or
--      renamed.
-- The triggers fire once a statement and look at its rows as a set, so a batch of 200 pays for them once;
-- foreign keys would check row by row and cost settlement a third of its speed.

CREATE FUNCTION "ledger_refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: the ledger is append-only', TG_OP, TG_TABLE_NAME
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

CREATE TRIGGER "accounts_stay"
    BEFORE UPDATE OF "id" OR DELETE OR TRUNCATE ON "accounts"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_refuse_change"();

CREATE FUNCTION "ledger_check_entries"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wrong RECORD;
BEGIN
    SELECT "added"."transaction_id", "added"."kind", "added"."total", "owner"."id" IS NULL AS "orphan" INTO wrong
        FROM (
            SELECT "transaction_id", "kind", sum("amount_pico") AS "total" FROM "added_entries" GROUP BY 1, 2
        ) AS "added"
        LEFT JOIN "ledger_transactions" AS "owner"
            ON "owner"."id" = "added"."transaction_id" AND "owner"."kind" = "added"."kind"
        WHERE "added"."total" <> 0 OR "owner"."id" IS NULL
        LIMIT 1;
    IF wrong."orphan" THEN
        RAISE EXCEPTION 'ledger entries of % (%) have no transaction', wrong."transaction_id", wrong."kind"
            USING ERRCODE = 'foreign_key_violation';
    ELSIF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % (%) does not balance: the added entries sum to %',
            wrong."transaction_id", wrong."kind", wrong."total"
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER "ledger_entries_checked"
    AFTER INSERT ON "ledger_entries" REFERENCING NEW TABLE AS "added_entries"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_check_entries"();

CREATE FUNCTION "ledger_check_transactions"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wrong RECORD;
BEGIN
    SELECT "added"."id", "added"."kind" INTO wrong FROM "added_transactions" AS "added"
        WHERE NOT EXISTS (SELECT 1 FROM "accounts" WHERE "accounts"."id" = "added"."account_id")
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % (%) names an unknown account', wrong."id", wrong."kind"
            USING ERRCODE = 'foreign_key_violation';
    END IF;
    SELECT "added"."id", "added"."kind" INTO wrong FROM "added_transactions" AS "added"
        WHERE NOT EXISTS (
            SELECT 1 FROM "ledger_entries" AS "entry"
            WHERE "entry"."transaction_id" = "added"."id" AND "entry"."kind" = "added"."kind"
        )
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % (%) has no entries', wrong."id", wrong."kind"
            USING ERRCODE = 'check_violation',
                  HINT = 'Insert a transaction and its entries in one statement.';
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER "ledger_transactions_checked"
    AFTER INSERT ON "ledger_transactions" REFERENCING NEW TABLE AS "added_transactions"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_check_transactions"();

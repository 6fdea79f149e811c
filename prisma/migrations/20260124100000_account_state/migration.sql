-- What the cheapest call held when the account last settled one; a balance below it pays for nothing.
ALTER TABLE "accounts" ADD COLUMN "least_call_pico" BIGINT NOT NULL DEFAULT 1;

-- The state of an account after a posting of `kind` changed its balance by `change` to `balance`. A suspension stays.
-- A balance that does not pay the cheapest call is exhausted; money makes an account active, its free credit does not.
CREATE FUNCTION "account_state_after"(
    "state" "account_state", "balance" BIGINT, "change" BIGINT, "kind" "ledger_kind", "least_call" BIGINT
) RETURNS "account_state" LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN "state" = 'suspended' THEN "state"
        WHEN "balance" < greatest("least_call", 1) THEN 'exhausted'
        WHEN "change" <= 0 THEN "state"
        WHEN "kind" <> 'free_credit' THEN 'active'
        WHEN "state" = 'exhausted' THEN 'free_credit'
        ELSE "state"
    END
$$;

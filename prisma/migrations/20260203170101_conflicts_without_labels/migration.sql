-- Records set aside keep no labels: what clients said about their calls goes with their account, and this table is
-- append-only.

CREATE OR REPLACE FUNCTION "call_records_keep_superseded"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "settlement_conflicts" ("call_id", "outcome", "unserved", "status", "error_code", "served_offer_id",
                                        "prompt_tokens", "completion_tokens", "charge_pico", "record")
    VALUES (OLD."id", 'superseded', true, OLD."status", OLD."error_code", OLD."served_offer_id",
            OLD."prompt_tokens", OLD."completion_tokens", OLD."charge_pico", to_jsonb(OLD) - 'labels')
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END;
$$;

ALTER TABLE "settlement_conflicts" DISABLE TRIGGER "settlement_conflicts_append_only";
UPDATE "settlement_conflicts" SET "record" = "record" - 'labels' WHERE "record" ? 'labels';
ALTER TABLE "settlement_conflicts" ENABLE TRIGGER "settlement_conflicts_append_only";

-- What settlement set aside: a record of a call that differs from the one that counts. Written only when two
-- records of one call contradict each other; the audit reads it.
--
-- A record that names nobody who served (`unserved`) gives way to one that does, whichever is settled first; of two
-- records of calls that were served the first counts.
CREATE TABLE "settlement_conflicts" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY,
    "call_id" TEXT NOT NULL,
    -- superseded: it counted until the other came. dropped: it never counted.
    "outcome" TEXT NOT NULL,
    "unserved" BOOLEAN NOT NULL,
    "status" "call_status" NOT NULL,
    "error_code" TEXT,
    "served_offer_id" TEXT,
    "prompt_tokens" INTEGER NOT NULL,
    "completion_tokens" INTEGER NOT NULL,
    "charge_pico" BIGINT NOT NULL,
    -- All of its columns, for a person to look at.
    "record" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "settlement_conflicts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "settlement_conflicts_outcome_known" CHECK ("outcome" IN ('superseded', 'dropped'))
);

-- A record that is settled again is set aside once.
CREATE UNIQUE INDEX "settlement_conflicts_record_key" ON "settlement_conflicts"
    ("call_id", "unserved", "status", "error_code", "served_offer_id", "prompt_tokens", "completion_tokens", "charge_pico")
    NULLS NOT DISTINCT;

CREATE TRIGGER "settlement_conflicts_append_only"
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "settlement_conflicts"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_refuse_change"();

-- Calls about which the audit found something, and a person has decided. Append-only.
CREATE TABLE "call_reviews" (
    "call_id" TEXT NOT NULL,
    "note" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "call_reviews_pkey" PRIMARY KEY ("call_id"),
    CONSTRAINT "call_reviews_note_given" CHECK ("note" <> '')
);

CREATE TRIGGER "call_reviews_append_only"
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "call_reviews"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_refuse_change"();

-- The row a settlement replaces may be newer than the statement's snapshot; only a trigger sees it for certain.
CREATE FUNCTION "call_records_keep_superseded"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "settlement_conflicts" ("call_id", "outcome", "unserved", "status", "error_code", "served_offer_id",
                                        "prompt_tokens", "completion_tokens", "charge_pico", "record")
    VALUES (OLD."id", 'superseded', true, OLD."status", OLD."error_code", OLD."served_offer_id",
            OLD."prompt_tokens", OLD."completion_tokens", OLD."charge_pico", to_jsonb(OLD))
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END;
$$;

CREATE TRIGGER "call_records_superseded" AFTER UPDATE ON "call_records" FOR EACH ROW
    WHEN (OLD."served_offer_id" IS NULL AND NEW."served_offer_id" IS NOT NULL)
    EXECUTE FUNCTION "call_records_keep_superseded"();

-- A run that found nobody to answer says nothing of what its client received: the record of a served call replaces its record,
-- and is not contradicted by it.
ALTER TABLE call_records ADD COLUMN is_unanswered boolean;

-- As before, but for such records.
CREATE OR REPLACE FUNCTION call_records_keep_superseded() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD."is_unanswered" THEN
      RETURN NULL;
    END IF;
    INSERT INTO "settlement_conflicts" ("call_id", "outcome", "unserved", "status", "error_code", "served_offer_id",
                                        "prompt_tokens", "completion_tokens", "charge_pico", "record")
    VALUES (OLD."id", 'superseded', true, OLD."status", OLD."error_code", OLD."served_offer_id",
            OLD."prompt_tokens", OLD."completion_tokens", OLD."charge_pico", to_jsonb(OLD) - 'labels')
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END;
$$;

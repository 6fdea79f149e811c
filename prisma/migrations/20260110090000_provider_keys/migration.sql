-- Clients' own keys at providers, and the master key under which an API key's hash stands.

CREATE TABLE "provider_keys" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "name" TEXT NOT NULL DEFAULT '',
    "secret_sealed" TEXT NOT NULL,
    "last4" TEXT NOT NULL,
    "allow_fallback" BOOLEAN NOT NULL DEFAULT false,
    "disabled" BOOLEAN NOT NULL DEFAULT false,
    "refusals" INTEGER NOT NULL DEFAULT 0,
    "failing_since" TIMESTAMPTZ(3),
    "last_error" TEXT,
    "last_error_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "provider_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "provider_keys_error_has_time" CHECK (("last_error" IS NULL) = ("last_error_at" IS NULL))
);

CREATE INDEX "provider_keys_account_id_idx" ON "provider_keys"("account_id");
ALTER TABLE "provider_keys" ADD CONSTRAINT "provider_keys_account_id_fkey"
    FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A key that its provider begins to refuse, its account hears of it, whoever noticed.
CREATE FUNCTION "record_provider_key_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "events" ("id", "type", "account_id", "data") VALUES (
        "event_id"('provider_key.failing', NEW."id" || ':' || extract(epoch FROM NEW."failing_since")),
        'provider_key.failing', NEW."account_id",
        jsonb_build_object('provider_key_id', NEW."id", 'provider', NEW."provider_id", 'name', NEW."name",
                           'last4', NEW."last4", 'error', NEW."last_error"))
    ON CONFLICT ("id") DO NOTHING;
    RETURN NULL;
END;
$$;

CREATE TRIGGER "provider_keys_failing_events" AFTER UPDATE ON "provider_keys" FOR EACH ROW
    WHEN (OLD."failing_since" IS NULL AND NEW."failing_since" IS NOT NULL)
    EXECUTE FUNCTION "record_provider_key_event"();

-- A call on the client's own key is charged the routing fee only. No foreign key: the key may be deleted, its
-- calls stay.
ALTER TABLE "call_records" ADD COLUMN "is_byok" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "call_records" ADD COLUMN "provider_key_id" TEXT;
ALTER TABLE "call_records" ADD CONSTRAINT "call_records_byok_names_its_key"
    CHECK ("is_byok" = ("provider_key_id" IS NOT NULL));

-- NULL: issued before hashes named their master key, and not used since.
ALTER TABLE "api_keys" ADD COLUMN "hash_master_key_id" TEXT;

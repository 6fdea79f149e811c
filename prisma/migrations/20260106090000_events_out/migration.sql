-- Events out: an outbox written in the transaction of the change it tells of, the endpoints that want to hear,
-- and one row for every delivery of an event to an endpoint.

-- At or below it an account's balance is low. NULL: never told.
ALTER TABLE "accounts" ADD COLUMN "low_balance_pico" BIGINT DEFAULT 1000000000000;
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_low_balance_not_negative" CHECK ("low_balance_pico" >= 0);

CREATE TYPE "delivery_state" AS ENUM ('pending', 'delivered', 'failed');

CREATE TABLE "webhook_endpoints" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "secret_sealed" TEXT NOT NULL,
    "previous_secret_sealed" TEXT,
    "previous_secret_until" TIMESTAMPTZ(3),
    "event_types" TEXT[],
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "disabled_reason" TEXT,
    "failing_since" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_endpoints_previous_secret_ends"
        CHECK (("previous_secret_sealed" IS NULL) = ("previous_secret_until" IS NULL))
);

-- No foreign key to accounts, which are never deleted: it would lock the account's row for every event.
CREATE TABLE "events" (
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "endpoint_id" TEXT,
    "data" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "fanned_out_at" TIMESTAMPTZ(3),

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "webhook_deliveries" (
    "id" TEXT NOT NULL,
    "event_id" TEXT NOT NULL,
    "endpoint_id" TEXT NOT NULL,
    "state" "delivery_state" NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "status_code" INTEGER,
    "error" TEXT,
    "duration_ms" INTEGER,
    "attempt_log" JSONB NOT NULL DEFAULT '[]',
    "next_attempt_at" TIMESTAMPTZ(3),
    "queued_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_deliveries_pending_has_next" CHECK (("state" = 'pending') = ("next_attempt_at" IS NOT NULL)),
    CONSTRAINT "webhook_deliveries_finished_has_time" CHECK (("state" = 'pending') = ("finished_at" IS NULL))
);

CREATE INDEX "webhook_endpoints_account_id_idx" ON "webhook_endpoints"("account_id");
CREATE INDEX "events_account_id_created_at_idx" ON "events"("account_id", "created_at");
CREATE INDEX "events_created_at_idx" ON "events"("created_at");
CREATE UNIQUE INDEX "webhook_deliveries_event_id_endpoint_id_key" ON "webhook_deliveries"("event_id", "endpoint_id");
CREATE INDEX "webhook_deliveries_endpoint_id_created_at_idx" ON "webhook_deliveries"("endpoint_id", "created_at");
-- What is still to be done, however long the log of what is done grows.
CREATE INDEX "events_waiting_idx" ON "events"("created_at", "id") WHERE "fanned_out_at" IS NULL;
CREATE INDEX "webhook_deliveries_pending_idx" ON "webhook_deliveries"("next_attempt_at") WHERE "state" = 'pending';

ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_account_id_fkey"
    FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_event_id_fkey"
    FOREIGN KEY ("event_id") REFERENCES "events"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_id_fkey"
    FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The same id for the same type and cause, as src/core/operations/event.ts computes it.
CREATE FUNCTION "event_id"("type" TEXT, "cause" TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
    SELECT 'evt_' || left(encode(sha256(convert_to("type" || ':' || "cause", 'UTF8')), 'hex'), 32)
$$;

-- Pico-USD as the shortest exact decimal of USD with at least two decimals, as src/core/kernel/money.ts prints it.
CREATE FUNCTION "usd_text"("amount_pico" BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN scale(trim_scale("amount_pico" * 0.000000000001)) < 2
                THEN round("amount_pico" * 0.000000000001, 2)::text
                ELSE trim_scale("amount_pico" * 0.000000000001)::text END
$$;

-- A balance that falls to its threshold, and an account that becomes exhausted, are noticed here, whoever moved
-- the money and in which statement: the row is locked, so old and new are neighbours in the account's history
-- and every crossing is seen once. The version makes the id. WHEN is evaluated in place: an update that crosses
-- nothing calls no function.
CREATE FUNCTION "record_balance_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW."balance_pico" < OLD."balance_pico"
       AND OLD."balance_pico" > NEW."low_balance_pico" AND NEW."balance_pico" <= NEW."low_balance_pico" THEN
        INSERT INTO "events" ("id", "type", "account_id", "data") VALUES (
            "event_id"('balance.low', NEW."id" || ':' || NEW."version"), 'balance.low', NEW."id",
            jsonb_build_object('balance_usd', "usd_text"(NEW."balance_pico"),
                               'threshold_usd', "usd_text"(NEW."low_balance_pico")))
        ON CONFLICT ("id") DO NOTHING;
    END IF;
    IF OLD."state" NOT IN ('exhausted', 'suspended') AND NEW."state" = 'exhausted' THEN
        INSERT INTO "events" ("id", "type", "account_id", "data") VALUES (
            "event_id"('balance.exhausted', NEW."id" || ':' || NEW."version"), 'balance.exhausted', NEW."id",
            jsonb_build_object('balance_usd', "usd_text"(NEW."balance_pico")))
        ON CONFLICT ("id") DO NOTHING;
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER "accounts_balance_events" AFTER UPDATE ON "accounts" FOR EACH ROW
    WHEN ((NEW."balance_pico" < OLD."balance_pico"
           AND OLD."balance_pico" > NEW."low_balance_pico" AND NEW."balance_pico" <= NEW."low_balance_pico")
       OR (OLD."state" NOT IN ('exhausted', 'suspended') AND NEW."state" = 'exhausted'))
    EXECUTE FUNCTION "record_balance_event"();

-- Whoever revokes a key, its account hears of it. Admin keys belong to no account.
CREATE FUNCTION "record_key_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "events" ("id", "type", "account_id", "data") VALUES (
        "event_id"('key.revoked', NEW."id"), 'key.revoked', NEW."account_id",
        jsonb_build_object('key_id', NEW."id", 'name', NEW."name", 'hint', NEW."prefix" || '…' || NEW."suffix",
                           'revoked_at', to_char(NEW."revoked_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
    ON CONFLICT ("id") DO NOTHING;
    RETURN NULL;
END;
$$;

CREATE TRIGGER "api_keys_revoked_events" AFTER UPDATE ON "api_keys" FOR EACH ROW
    WHEN (OLD."state" = 'active' AND NEW."state" = 'revoked' AND NEW."account_id" IS NOT NULL)
    EXECUTE FUNCTION "record_key_event"();

-- Which call an account's Idempotency-Key was charged for. Redis knows it too, and may lose it.

CREATE TABLE "idempotency_keys" (
    "account_id" TEXT NOT NULL,
    "key_digest" TEXT NOT NULL,
    "call_id" TEXT NOT NULL,
    "admitted_at_ms" BIGINT NOT NULL,
    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("account_id", "key_digest")
);

CREATE INDEX "idempotency_keys_admitted_at_ms_idx" ON "idempotency_keys"("admitted_at_ms");

-- A call that ran although its key had been charged for another: what it would have cost is not charged.
ALTER TABLE "call_records" ADD COLUMN "duplicate_of" TEXT;
ALTER TABLE "call_records" ADD CONSTRAINT "call_records_duplicate_is_free"
    CHECK ("duplicate_of" IS NULL OR "charge_pico" = 0) NOT VALID;
ALTER TABLE "call_records" VALIDATE CONSTRAINT "call_records_duplicate_is_free";

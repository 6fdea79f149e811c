-- Amounts are bigint pico-USD, rates bigint pico-USD per token, *_ms columns Unix milliseconds.

CREATE TYPE "account_state" AS ENUM ('free_credit', 'active', 'exhausted', 'suspended');
CREATE TYPE "key_kind" AS ENUM ('standard', 'admin');
CREATE TYPE "key_state" AS ENUM ('active', 'revoked');
CREATE TYPE "limit_reset" AS ENUM ('none', 'daily', 'weekly', 'monthly');
CREATE TYPE "ledger_kind" AS ENUM ('capture', 'free_credit', 'credit', 'adjustment');
CREATE TYPE "call_status" AS ENUM ('completed', 'failed', 'cancelled', 'interrupted');
CREATE TYPE "usage_source" AS ENUM ('upstream', 'counted', 'none');

CREATE TABLE "accounts" (
    "id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "state" "account_state" NOT NULL,
    "balance_pico" BIGINT NOT NULL DEFAULT 0,
    "version" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "accounts_balance_not_negative" CHECK ("balance_pico" >= 0)
);

-- Every settlement rewrites its account's row; free space in each page keeps those updates off the indexes.
ALTER TABLE "accounts" SET (fillfactor = 50);

CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "account_id" TEXT,
    "kind" "key_kind" NOT NULL,
    "hash" BYTEA NOT NULL,
    "prefix" TEXT NOT NULL,
    "suffix" TEXT NOT NULL,
    "name" TEXT NOT NULL DEFAULT '',
    "limit_pico" BIGINT,
    "limit_reset" "limit_reset" NOT NULL DEFAULT 'none',
    "expires_at" TIMESTAMPTZ(3),
    "requests_per_minute" INTEGER,
    "concurrent_calls" INTEGER,
    "state" "key_state" NOT NULL DEFAULT 'active',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "api_keys_admin_has_no_account" CHECK (("kind" = 'admin') = ("account_id" IS NULL)),
    CONSTRAINT "api_keys_revoked_has_time" CHECK (("state" = 'revoked') = ("revoked_at" IS NOT NULL)),
    CONSTRAINT "api_keys_limits_sane" CHECK (
        "limit_pico" >= 0 AND "requests_per_minute" >= 1 AND "concurrent_calls" >= 1
    )
);

CREATE TABLE "ledger_transactions" (
    "id" TEXT NOT NULL,
    "kind" "ledger_kind" NOT NULL,
    "account_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_transactions_pkey" PRIMARY KEY ("id", "kind")
);

CREATE TABLE "ledger_entries" (
    "transaction_id" TEXT NOT NULL,
    "kind" "ledger_kind" NOT NULL,
    "ledger_account" TEXT NOT NULL,
    "amount_pico" BIGINT NOT NULL,

    CONSTRAINT "ledger_entries_pkey" PRIMARY KEY ("transaction_id", "kind", "ledger_account"),
    CONSTRAINT "ledger_entries_amount_not_zero" CHECK ("amount_pico" <> 0)
);

CREATE TABLE "call_records" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "request_id" TEXT NOT NULL,
    "status" "call_status" NOT NULL,
    "error_code" TEXT,
    "finish_reason" TEXT,
    "requested_model" TEXT NOT NULL,
    "stream" BOOLEAN NOT NULL,
    "served_offer_id" TEXT,
    "served_model_id" TEXT,
    "prompt_rate_pico" BIGINT,
    "completion_rate_pico" BIGINT,
    "rate_version" TEXT,
    "prompt_cost_pico" BIGINT,
    "completion_cost_pico" BIGINT,
    "prompt_tokens" INTEGER NOT NULL,
    "completion_tokens" INTEGER NOT NULL,
    "usage_source" "usage_source" NOT NULL,
    "usage_clamped" BOOLEAN NOT NULL,
    "hold_pico" BIGINT NOT NULL,
    "charge_pico" BIGINT NOT NULL,
    "attempts" JSONB NOT NULL,
    "admitted_at_ms" BIGINT NOT NULL,
    "claimed_at_ms" BIGINT,
    "first_token_at_ms" BIGINT,
    "finished_at_ms" BIGINT NOT NULL,
    "settled_at_ms" BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,

    CONSTRAINT "call_records_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "call_records_charge_within_hold" CHECK ("charge_pico" >= 0 AND "charge_pico" <= "hold_pico"),
    CONSTRAINT "call_records_tokens_not_negative" CHECK ("prompt_tokens" >= 0 AND "completion_tokens" >= 0),
    CONSTRAINT "call_records_charge_needs_service" CHECK ("charge_pico" = 0 OR "served_offer_id" IS NOT NULL)
);

CREATE TABLE "quarantined_settlements" (
    "id" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "record" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "quarantined_settlements_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "accounts_email_key" ON "accounts"("email");
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");
CREATE INDEX "api_keys_account_id_idx" ON "api_keys"("account_id");
-- What a key has spent in a period, read from the index alone.
CREATE INDEX "call_records_key_id_admitted_at_ms_idx" ON "call_records"("key_id", "admitted_at_ms") INCLUDE ("charge_pico");

ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_fkey"
    FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

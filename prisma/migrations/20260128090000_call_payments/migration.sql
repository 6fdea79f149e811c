-- Calls without a key, each paid by an x402 payment of its own.

ALTER TYPE "ledger_kind" ADD VALUE 'call_payment';
ALTER TYPE "ledger_kind" ADD VALUE 'call_payment_closed';

CREATE TYPE "call_payment_state" AS ENUM
    ('authorized', 'left', 'settling', 'settled', 'released', 'unpaid', 'unproven');

CREATE TABLE "call_payments" (
    "call_id" TEXT NOT NULL,
    "network" TEXT NOT NULL,
    "asset" TEXT NOT NULL,
    "payer" TEXT NOT NULL,
    "nonce" TEXT NOT NULL,
    "amount_pico" BIGINT NOT NULL,
    "request" JSONB NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "over_at" TIMESTAMPTZ(3) NOT NULL,
    "state" "call_payment_state" NOT NULL DEFAULT 'authorized',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "transaction" TEXT,
    "reason" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "decided_at" TIMESTAMPTZ(3),
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "call_payments_pkey" PRIMARY KEY ("call_id"),
    -- Whole units of an asset with six decimals.
    CONSTRAINT "call_payments_amount_sane" CHECK ("amount_pico" > 0 AND "amount_pico" % 1000000 = 0),
    CONSTRAINT "call_payments_settled_is_proven" CHECK (("state" = 'settled') = ("transaction" IS NOT NULL)),
    CONSTRAINT "call_payments_closed_is_decided" CHECK (
        "closed_at" IS NULL OR "state" IN ('settled', 'released', 'unpaid')
    )
);

-- An authorization pays for one call.
CREATE UNIQUE INDEX "call_payments_authorization_key" ON "call_payments"("network", "asset", "payer", "nonce");
CREATE INDEX "call_payments_open_idx" ON "call_payments"("created_at") WHERE "closed_at" IS NULL;
CREATE INDEX "call_payments_open_payer_idx" ON "call_payments"("payer") WHERE "closed_at" IS NULL;

-- The account of these calls is empty between them, which is news to nobody.
DROP TRIGGER "accounts_balance_events" ON "accounts";
CREATE TRIGGER "accounts_balance_events" AFTER UPDATE ON "accounts" FOR EACH ROW
    WHEN (((NEW."balance_pico" < OLD."balance_pico"
            AND OLD."balance_pico" > NEW."low_balance_pico" AND NEW."balance_pico" <= NEW."low_balance_pico")
           OR (OLD."state" NOT IN ('exhausted', 'suspended') AND NEW."state" = 'exhausted'))
          AND NEW."id" <> 'acct_x402')
    EXECUTE FUNCTION "record_balance_event"();

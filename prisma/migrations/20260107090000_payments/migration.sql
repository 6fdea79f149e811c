-- Top-ups: payments, what their rails told of them, and what customers owe when money goes back.

ALTER TYPE "ledger_kind" ADD VALUE 'topup';
ALTER TYPE "ledger_kind" ADD VALUE 'refund';
ALTER TYPE "ledger_kind" ADD VALUE 'refund_reversal';
ALTER TYPE "ledger_kind" ADD VALUE 'dispute';
ALTER TYPE "ledger_kind" ADD VALUE 'dispute_won';
ALTER TYPE "ledger_kind" ADD VALUE 'dispute_lost';
ALTER TYPE "ledger_kind" ADD VALUE 'collection';

CREATE TYPE "payment_rail" AS ENUM ('stripe', 'paypal', 'development');
CREATE TYPE "payment_state" AS ENUM ('created', 'pending', 'settled', 'failed', 'expired', 'refunded', 'disputed');
CREATE TYPE "payment_event_outcome" AS ENUM ('applied', 'ignored', 'refused');

-- What is owed: money taken back that the balance did not hold. Minus the account's receivable in the ledger.
ALTER TABLE "accounts" ADD COLUMN "owed_pico" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_owed_not_negative" CHECK ("owed_pico" >= 0);
CREATE INDEX "accounts_owing_idx" ON "accounts"("id") WHERE "owed_pico" > 0;

CREATE TABLE "payments" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "rail" "payment_rail" NOT NULL,
    "state" "payment_state" NOT NULL DEFAULT 'created',
    "amount_pico" BIGINT NOT NULL,
    "checkout_id" TEXT,
    "checkout_url" TEXT,
    "charge_id" TEXT,
    "settled_pico" BIGINT NOT NULL DEFAULT 0,
    "returned_pico" BIGINT NOT NULL DEFAULT 0,
    "disputed_pico" BIGINT NOT NULL DEFAULT 0,
    "movements" INTEGER NOT NULL DEFAULT 0,
    "failure_reason" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "settled_at" TIMESTAMPTZ(3),
    "checked_at" TIMESTAMPTZ(3),

    CONSTRAINT "payments_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "payments_amounts_sane" CHECK (
        "amount_pico" > 0 AND "returned_pico" >= 0 AND "disputed_pico" >= 0
        AND "returned_pico" + "disputed_pico" <= "settled_pico" AND "settled_pico" IN (0, "amount_pico")
    ),
    CONSTRAINT "payments_settled_has_money" CHECK (
        ("state" IN ('settled', 'refunded', 'disputed')) = ("settled_pico" > 0)
        AND ("settled_pico" > 0) = ("settled_at" IS NOT NULL)
    )
);

-- Every event of a rail, kept before it acts; the same id is the same event. No text of the rail's own is kept,
-- only what the event says of the payment.
CREATE TABLE "payment_events" (
    "rail" "payment_rail" NOT NULL,
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "payment_id" TEXT,
    "reference" TEXT,
    "fact" JSONB,
    "outcome" "payment_event_outcome",
    "detail" TEXT,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "payment_events_pkey" PRIMARY KEY ("rail", "id")
);

-- One row each time an account was suspended by the money that went back. Its id is the cause.
CREATE TABLE "account_suspensions" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "payment_id" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "shortfall_pico" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "account_suspensions_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "payments_rail_checkout_id_key" ON "payments"("rail", "checkout_id");
CREATE UNIQUE INDEX "payments_rail_charge_id_key" ON "payments"("rail", "charge_id");
CREATE INDEX "payments_account_id_id_idx" ON "payments"("account_id", "id");
CREATE INDEX "payments_open_idx" ON "payments"("checked_at" NULLS FIRST, "id") WHERE "state" IN ('created', 'pending');
CREATE INDEX "payment_events_payment_id_idx" ON "payment_events"("payment_id");
CREATE INDEX "payment_events_unmatched_idx" ON "payment_events"("rail", "reference") WHERE "payment_id" IS NULL;
CREATE INDEX "payment_events_waiting_idx" ON "payment_events"("received_at") WHERE "outcome" IS NULL AND "payment_id" IS NOT NULL;
CREATE INDEX "account_suspensions_account_id_idx" ON "account_suspensions"("account_id");

ALTER TABLE "payments" ADD CONSTRAINT "payments_account_id_fkey"
    FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "payment_events" ADD CONSTRAINT "payment_events_payment_id_fkey"
    FOREIGN KEY ("payment_id") REFERENCES "payments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

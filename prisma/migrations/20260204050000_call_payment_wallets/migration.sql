-- What a wallet owes and has paid decides about its next call, and a released authorization may pay for another call.

-- A payment that was released is never asked for: its authorization is unused.
DROP INDEX "call_payments_authorization_key";
CREATE UNIQUE INDEX "call_payments_authorization_key" ON "call_payments"("network", "asset", "payer", "nonce")
    WHERE "state" <> 'released';

-- Due payments, nearest expiry first.
CREATE INDEX "call_payments_settling_idx" ON "call_payments"("expires_at")
    WHERE "closed_at" IS NULL AND "state" = 'settling';
-- Those that a wallet did not pay, or may not have paid.
CREATE INDEX "call_payments_unpaid_payer_idx" ON "call_payments"("payer") WHERE "state" IN ('unpaid', 'unproven');
-- The latest that it paid.
CREATE INDEX "call_payments_settled_payer_idx" ON "call_payments"("payer", "created_at") WHERE "state" = 'settled';

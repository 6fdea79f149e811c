-- Usage and exports of one account by time.
CREATE INDEX "call_records_account_id_admitted_at_ms_idx" ON "call_records"("account_id", "admitted_at_ms");

-- Why an account's money moved, apart from its calls: credits, top-ups, corrections. Captures, which are nearly
-- all of the table, stay out of it.
CREATE INDEX "ledger_transactions_account_id_idx" ON "ledger_transactions"("account_id") WHERE "kind" <> 'capture';

-- What maintenance finds by: the work that is open, and not everything that ever was.

-- Recent movements of accounts apart from their calls: a process may have died before Redis knew of one.
CREATE INDEX ledger_transactions_posted_idx ON ledger_transactions (created_at) INCLUDE (account_id) WHERE kind <> 'capture';

-- The next deliveries of each endpoint, and those that are queued or running.
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, next_attempt_at, id) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_queued_idx ON webhook_deliveries (queued_until) WHERE state = 'pending' AND queued_until IS NOT NULL;

-- Payments by the day on which they were paid.
CREATE INDEX payments_settled_idx ON payments (rail, settled_at, id) WHERE settled_at IS NOT NULL;

-- Limits of an account over all its keys, set by the operator; null: the gateway's default.
ALTER TABLE accounts
  ADD COLUMN requests_per_minute integer CHECK (requests_per_minute >= 1),
  ADD COLUMN concurrent_calls    integer CHECK (concurrent_calls >= 1);

-- What a customer set for a key. It may lower what the operator grants it (requests_per_minute, concurrent_calls, or
-- the gateway's default), never raise it.
ALTER TABLE api_keys
  ADD COLUMN customer_requests_per_minute integer CHECK (customer_requests_per_minute >= 1),
  ADD COLUMN customer_concurrent_calls    integer CHECK (customer_concurrent_calls >= 1);

-- Figures of accounts that can sign in are the customer's, but for those that an operator set.
UPDATE api_keys AS k
SET customer_requests_per_minute = k.requests_per_minute, requests_per_minute = NULL
WHERE k.requests_per_minute IS NOT NULL
  AND EXISTS (SELECT FROM account_credentials AS c WHERE c.account_id = k.account_id)
  AND NOT EXISTS (
    SELECT FROM operator_actions AS a
    WHERE a.action = 'key.limits' AND a.target = k.id
      AND a.details->>'requests_per_minute' = k.requests_per_minute::text
  );

UPDATE api_keys AS k
SET customer_concurrent_calls = k.concurrent_calls, concurrent_calls = NULL
WHERE k.concurrent_calls IS NOT NULL
  AND EXISTS (SELECT FROM account_credentials AS c WHERE c.account_id = k.account_id)
  AND NOT EXISTS (
    SELECT FROM operator_actions AS a
    WHERE a.action = 'key.limits' AND a.target = k.id
      AND a.details->>'concurrent_calls' = k.concurrent_calls::text
  );

-- Requests for calls that were refused before a call was admitted: counts by key, error and hour, and nothing of what was
-- asked. An empty account and key: none was known.
CREATE TABLE refused_requests (
  account_id text NOT NULL,
  hour       timestamptz(3) NOT NULL,
  key_id     text NOT NULL,
  code       text NOT NULL,
  requests   bigint NOT NULL CHECK (requests > 0),
  last_at    timestamptz(3) NOT NULL,
  PRIMARY KEY (account_id, hour, key_id, code)
);
CREATE INDEX refused_requests_hour_idx ON refused_requests (hour);

-- What the mail server was asked to send: which message, to whom, about which account. Not its text, whose links are secret.
CREATE TABLE sent_mails (
  id         text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  kind       text NOT NULL,
  recipient  text NOT NULL,
  outcome    text NOT NULL CHECK (outcome IN ('sent', 'refused', 'failed')),
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX sent_mails_account_id_id_idx ON sent_mails (account_id, id);
CREATE INDEX sent_mails_recipient_idx ON sent_mails (recipient);
CREATE INDEX sent_mails_created_at_idx ON sent_mails (created_at);

-- The alarms of an account: see src/operations/alarm-store.ts.
CREATE INDEX alarms_account_idx ON alarms (substring(coalesce(fields ->> 'accountId', subject) from 'acct_[0-9A-Z]+'), id);

-- Time to first token of the successful attempts of an hour; null: none had one.
ALTER TABLE provider_hours ADD COLUMN first_token_p50_ms double precision, ADD COLUMN first_token_p95_ms double precision;

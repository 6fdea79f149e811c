-- What was asked and answered with keys whose holders opted in, sealed, until it expires. Null: such a key keeps nothing.
ALTER TABLE api_keys ADD COLUMN prompt_log_days integer;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_prompt_log_days CHECK (prompt_log_days BETWEEN 1 AND 30);

CREATE TABLE prompt_logs (
    call_id text NOT NULL,
    account_id text NOT NULL,
    key_id text NOT NULL,
    sealed bytea NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    expires_at timestamptz(3) NOT NULL,
    CONSTRAINT prompt_logs_pkey PRIMARY KEY (call_id)
);

CREATE INDEX prompt_logs_account_id_idx ON prompt_logs (account_id);
CREATE INDEX prompt_logs_key_id_idx ON prompt_logs (key_id);
CREATE INDEX prompt_logs_expires_at_idx ON prompt_logs (expires_at);

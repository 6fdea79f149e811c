-- Services of an account that judge the prompts and answers of its calls: at most one of all its keys, and one of each key.
CREATE TABLE guardrails (
  id            text PRIMARY KEY,
  account_id    text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- Null: of every key.
  key_id        text REFERENCES api_keys (id) ON DELETE CASCADE,
  kind          text NOT NULL CHECK (kind IN ('http', 'moderation', 'presidio')),
  url           text NOT NULL,
  -- What signs requests, or the key that the service asks for. Null: it asks for none.
  secret_sealed text,
  points        text[] NOT NULL CHECK (points <@ '{prompt,completion}' AND points <> '{}'),
  may_replace   boolean NOT NULL,
  timeout_ms    integer NOT NULL CHECK (timeout_ms BETWEEN 100 AND 10000),
  on_failure    text NOT NULL CHECK (on_failure IN ('allow', 'deny')),
  -- What its kind needs besides.
  settings      jsonb NOT NULL DEFAULT '{}',
  created_at    timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE NULLS NOT DISTINCT (account_id, key_id)
);

CREATE INDEX guardrails_key_id_idx ON guardrails (key_id);

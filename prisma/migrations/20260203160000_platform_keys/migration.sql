-- The gateway's own keys at providers, stored by operators. One that is not here comes from the environment.
CREATE TABLE platform_keys (
  provider_id   text PRIMARY KEY,
  -- The only origins that it may be sent to.
  origins       text[] NOT NULL CHECK (cardinality(origins) > 0),
  secret_sealed text NOT NULL,
  last4         text NOT NULL,
  author        text NOT NULL,
  created_at    timestamptz(3) NOT NULL DEFAULT now()
);

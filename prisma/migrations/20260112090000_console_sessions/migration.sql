-- Signing in to the console: passwords, and the sessions of browsers.

-- Accounts that sign in. Kept apart from accounts, whose rows every settlement writes.
CREATE TABLE account_credentials (
  account_id    text PRIMARY KEY REFERENCES accounts (id) ON DELETE RESTRICT,
  -- Argon2id in its own text form, parameters and salt with it.
  password_hash text NOT NULL,
  changed_at    timestamptz(3) NOT NULL DEFAULT now()
);

-- Signing up and in do not tell apart how an address is capitalized.
CREATE INDEX accounts_email_lower_idx ON accounts (lower(email));

-- A session belongs to an account holder or to an operator's admin key. Known by the hash of its token alone.
CREATE TABLE console_sessions (
  token_hash bytea PRIMARY KEY,
  account_id text REFERENCES accounts (id) ON DELETE RESTRICT,
  key_id     text REFERENCES api_keys (id) ON DELETE RESTRICT,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  CONSTRAINT console_sessions_have_one_owner CHECK (num_nonnulls(account_id, key_id) = 1)
);
CREATE INDEX console_sessions_account_id_idx ON console_sessions (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX console_sessions_expires_at_idx ON console_sessions (expires_at);

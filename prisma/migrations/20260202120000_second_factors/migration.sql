-- A second factor for signing in: one-time codes of an app, passkeys, and recovery codes for when both are lost.

CREATE TABLE account_totp (
  account_id    text PRIMARY KEY REFERENCES accounts (id) ON DELETE RESTRICT,
  -- Encrypted under the master key, bound to the account.
  secret_sealed text NOT NULL,
  -- When the first code showed that the app has the secret; null: it is not asked for yet.
  confirmed_at  timestamptz(3),
  -- The time step of the last code that was taken: none is taken twice.
  last_step     bigint NOT NULL DEFAULT 0,
  created_at    timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE recovery_codes (
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  -- SHA-256; the codes are random and not stored.
  code_hash  bytea NOT NULL,
  PRIMARY KEY (account_id, code_hash)
);

CREATE TABLE passkeys (
  -- The credential's id, as its authenticator chose it; base64url.
  id           text PRIMARY KEY,
  account_id   text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  -- COSE.
  public_key   bytea NOT NULL,
  -- The authenticator's count of signatures; 0 where it does not count.
  counter      bigint NOT NULL,
  transports   text[] NOT NULL DEFAULT '{}',
  name         text NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  last_used_at timestamptz(3)
);
CREATE INDEX passkeys_account_id_idx ON passkeys (account_id);

-- What is known between two requests of one sign-in. Known by the hash of its token alone, and used once.
CREATE TABLE sign_in_steps (
  token_hash bytea PRIMARY KEY,
  purpose    text NOT NULL,
  -- Null: not known yet.
  account_id text REFERENCES accounts (id) ON DELETE RESTRICT,
  data       jsonb NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX sign_in_steps_account_id_idx ON sign_in_steps (account_id);
CREATE INDEX sign_in_steps_expires_at_idx ON sign_in_steps (expires_at);

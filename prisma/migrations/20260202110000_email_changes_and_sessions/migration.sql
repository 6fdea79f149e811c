-- Changes of an account's email, and what its holder is shown of sessions.

-- A change waits until the new address is confirmed, and then until the old address was told.
CREATE TABLE email_changes (
  id           text PRIMARY KEY,
  account_id   text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  old_email    text NOT NULL,
  new_email    text NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  confirmed_at timestamptz(3)
);
CREATE INDEX email_changes_account_id_idx ON email_changes (account_id);

ALTER TABLE console_sessions
  -- To within some minutes.
  ADD COLUMN last_used_at    timestamptz(3) NOT NULL DEFAULT now(),
  ADD COLUMN user_agent      text NOT NULL DEFAULT '',
  ADD COLUMN network_address text NOT NULL DEFAULT '';

-- Accounts at other services that sign in to an account here.
CREATE TABLE identities (
  provider   text NOT NULL,
  -- The provider's id of its user, which does not change as an address may.
  subject    text NOT NULL,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  -- The address when it was linked, to recognize it by.
  email      text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (provider, subject)
);
CREATE UNIQUE INDEX identities_account_id_provider_key ON identities (account_id, provider);

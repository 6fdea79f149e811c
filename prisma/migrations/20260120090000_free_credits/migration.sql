-- What became of the free credit of accounts that signed up, and the mailboxes that had one.

CREATE TYPE free_credit_state AS ENUM ('unverified', 'granted', 'mailbox_used', 'network_used', 'budget_used');

CREATE TABLE free_credits (
  account_id text PRIMARY KEY REFERENCES accounts (id) ON DELETE RESTRICT,
  state      free_credit_state NOT NULL,
  -- The account's email as far as it names a mailbox: without tags, and without dots that do not count.
  mailbox    text NOT NULL,
  decided_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX free_credits_granted_mailbox_key ON free_credits (mailbox) WHERE state = 'granted';

-- Links that verify an address; many may wait for one account. Known by the hash of their token alone.
CREATE TABLE email_tokens (
  token_hash bytea PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX email_tokens_account_id_idx ON email_tokens (account_id);

-- Accounts are found by their email in compatible characters from now on. An email that another account has in
-- that spelling stays as it is.
DO $$
BEGIN
  IF getdatabaseencoding() = 'UTF8' THEN
    UPDATE accounts SET email = normalize(email, NFKC)
    WHERE email IS NOT NFKC NORMALIZED
      AND NOT EXISTS (
        SELECT FROM accounts AS other
        WHERE other.id <> accounts.id AND lower(normalize(other.email, NFKC)) = lower(normalize(accounts.email, NFKC))
      );
  END IF;
END;
$$;

-- Mailboxes that had their credit before this was kept. Of several accounts of one mailbox, the first has it.
INSERT INTO free_credits (account_id, state, mailbox, decided_at)
SELECT DISTINCT ON (mailbox) account_id, 'granted', mailbox, created_at
FROM (
  SELECT t.account_id, t.created_at,
         CASE WHEN parts[2] IN ('gmail.com', 'googlemail.com') THEN replace(parts[1], '.', '') || '@gmail.com'
              WHEN parts[2] IN ('proton.me', 'protonmail.com', 'pm.me') THEN replace(parts[1], '.', '') || '@proton.me'
              ELSE parts[1] || '@' || parts[2] END AS mailbox
  FROM ledger_transactions AS t
  JOIN accounts AS a ON a.id = t.account_id
  JOIN account_credentials AS c ON c.account_id = a.id
  CROSS JOIN LATERAL regexp_match(lower(a.email), '^([^+@]*)[^@]*@(.*)$') AS parts
  WHERE t.kind = 'free_credit'
) AS given
ORDER BY mailbox, created_at, account_id;

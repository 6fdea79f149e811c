-- Deleted accounts whose calls left data that is still to be erased, and the last call whose labels are.
CREATE TABLE account_erasures (
  account_id text PRIMARY KEY REFERENCES accounts (id),
  after_ms   bigint NOT NULL DEFAULT 0,
  after_id   text NOT NULL DEFAULT '',
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- Deletions before this version may have been interrupted.
INSERT INTO account_erasures (account_id) SELECT id FROM accounts WHERE deleted_at IS NOT NULL;

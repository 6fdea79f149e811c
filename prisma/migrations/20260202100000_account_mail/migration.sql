-- Mail about an account: whether its address is verified, which messages its holder does not want, and the messages
-- about its events.

ALTER TABLE accounts
  -- When the holder proved access to the mailbox of `email`; null: not yet.
  ADD COLUMN email_verified_at timestamptz(3),
  -- Kinds of messages that are turned off; see src/core/operations/mail-preference.ts.
  ADD COLUMN muted_mails text[] NOT NULL DEFAULT '{}';

-- Links in messages: what each is for, and the address that it was sent to.
ALTER TABLE email_tokens
  ADD COLUMN purpose text NOT NULL DEFAULT 'verify_email',
  ADD COLUMN email   text NOT NULL DEFAULT '';
UPDATE email_tokens SET email = accounts.email FROM accounts WHERE accounts.id = email_tokens.account_id;
ALTER TABLE email_tokens ALTER COLUMN purpose DROP DEFAULT, ALTER COLUMN email DROP DEFAULT;

-- One message per event. It is queued under a lease, and queued again if its job was lost.
CREATE TABLE event_mails (
  event_id     text PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE,
  account_id   text NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  queued_until timestamptz(3),
  -- Sent, refused by the mail server, or given up.
  finished_at  timestamptz(3)
);
CREATE INDEX event_mails_account_id_created_at_idx ON event_mails (account_id, created_at);
CREATE INDEX event_mails_pending_idx ON event_mails (created_at) WHERE finished_at IS NULL;

-- Whether a person asked for the weekly message about spend; nobody has yet. The index finds those who did.
ALTER TABLE accounts ADD COLUMN weekly_mail boolean NOT NULL DEFAULT false;
CREATE INDEX accounts_weekly_mail_idx ON accounts (id) WHERE weekly_mail;

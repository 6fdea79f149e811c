-- Accounts that their holders deleted: the row stays for the ledger, without anything about a person.
ALTER TABLE accounts ADD COLUMN deleted_at timestamptz(3);
ALTER TABLE accounts ADD CONSTRAINT accounts_deleted_stay_suspended CHECK (deleted_at IS NULL OR state = 'suspended');

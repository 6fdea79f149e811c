-- By what sign-ins with a provider people become members of an organisation: see src/accounts/identity/sign-in-rules.ts.
ALTER TABLE accounts ADD COLUMN sign_in jsonb CHECK (sign_in IS NULL OR name IS NOT NULL);
CREATE INDEX accounts_sign_in_idx ON accounts (id) WHERE sign_in IS NOT NULL;
ALTER TABLE organisation_members ADD COLUMN by_rule boolean NOT NULL DEFAULT false;

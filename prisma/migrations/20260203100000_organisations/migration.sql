-- Organisations: accounts with members in place of a holder. A member is the personal account of a person.

-- Exactly organisations have a name and no email.
ALTER TABLE accounts
  ALTER COLUMN email DROP NOT NULL,
  ADD COLUMN name text,
  ADD CONSTRAINT accounts_have_email_or_name CHECK (num_nonnulls(email, name) = 1);

CREATE TYPE member_role AS ENUM ('owner', 'admin', 'developer', 'billing');

CREATE TABLE organisation_members (
  account_id          text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  person_id           text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  role                member_role NOT NULL,
  -- What keys of the member may spend in a month; null: no limit of its own.
  monthly_budget_pico bigint,
  created_at          timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, person_id),
  CONSTRAINT organisation_members_budget_not_negative CHECK (monthly_budget_pico >= 0)
);
CREATE INDEX organisation_members_person_id_idx ON organisation_members (person_id);

-- Invitations that wait. The token of the link is among email_tokens.
CREATE TABLE organisation_invitations (
  id         text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  email      text NOT NULL,
  role       member_role NOT NULL,
  -- The person who invited; the row outlives their membership.
  invited_by text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX organisation_invitations_account_id_email_key ON organisation_invitations (account_id, email);
CREATE INDEX organisation_invitations_email_idx ON organisation_invitations (email);

-- What people did to an account. Append-only while the account exists; deleting the account deletes its rows.
CREATE TABLE account_actions (
  id         text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  person_id  text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  action     text NOT NULL,
  target     text NOT NULL,
  details    jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX account_actions_account_id_id_idx ON account_actions (account_id, id);

CREATE FUNCTION account_actions_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM accounts WHERE id = OLD.account_id AND deleted_at IS NOT NULL) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION '% of % refused: the record of what people did is append-only', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END;
$$;
CREATE TRIGGER account_actions_append_only BEFORE UPDATE OR DELETE ON account_actions
  FOR EACH ROW EXECUTE FUNCTION account_actions_refuse_change();
CREATE TRIGGER account_actions_keep_rows BEFORE TRUNCATE ON account_actions
  FOR EACH STATEMENT EXECUTE FUNCTION account_actions_refuse_change();

-- The organisation that a session acts on; null: the account of the person.
ALTER TABLE console_sessions ADD COLUMN acting_account_id text REFERENCES accounts (id) ON DELETE RESTRICT;
CREATE INDEX console_sessions_acting_account_id_idx ON console_sessions (acting_account_id)
  WHERE acting_account_id IS NOT NULL;

-- The person who made the key; null: made before this column, by an operator or by a command.
ALTER TABLE api_keys ADD COLUMN created_by text REFERENCES accounts (id) ON DELETE RESTRICT;

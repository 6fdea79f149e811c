-- People who operate the gateway, each with a role. Admin keys and operators' sessions belong to one of them.

CREATE TYPE operator_role AS ENUM ('admin', 'billing', 'support', 'viewer');
CREATE TYPE operator_state AS ENUM ('active', 'disabled');

CREATE TABLE operators (
  id           text PRIMARY KEY,
  name         text NOT NULL,
  -- Null: signs in with admin keys alone.
  email        text,
  role         operator_role NOT NULL,
  state        operator_state NOT NULL DEFAULT 'active',
  -- Who the operator is at the single sign-on provider, from the first sign-in on: an address may change hands there.
  oidc_issuer  text,
  oidc_subject text,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT operators_oidc_is_whole CHECK ((oidc_issuer IS NULL) = (oidc_subject IS NULL))
);
-- An address that changed hands belongs to another operator, once the former one is disabled.
CREATE UNIQUE INDEX operators_email_key ON operators (lower(email)) WHERE state = 'active';
CREATE UNIQUE INDEX operators_oidc_key ON operators (oidc_issuer, oidc_subject) WHERE state = 'active';

ALTER TABLE api_keys ADD COLUMN operator_id text REFERENCES operators (id) ON DELETE RESTRICT;
CREATE INDEX api_keys_operator_id_idx ON api_keys (operator_id) WHERE operator_id IS NOT NULL;

-- Admin keys had every right and a name: each name becomes an operator with the role admin, disabled if all of its keys
-- are revoked.
INSERT INTO operators (id, name, role, state, created_at)
SELECT replace(min(id), 'key_', 'op_'), coalesce(nullif(name, ''), 'Admin'), 'admin',
       CASE WHEN bool_or(state = 'active') THEN 'active' ELSE 'disabled' END::operator_state, min(created_at)
FROM api_keys WHERE kind = 'admin' GROUP BY coalesce(nullif(name, ''), 'Admin');

UPDATE api_keys AS key SET operator_id = operator.id
FROM operators AS operator
WHERE key.kind = 'admin' AND operator.name = coalesce(nullif(key.name, ''), 'Admin');

ALTER TABLE api_keys
  ADD CONSTRAINT api_keys_admin_has_operator CHECK ((kind = 'admin') = (operator_id IS NOT NULL));

-- A session that was begun by single sign-on has an operator in place of a key.
ALTER TABLE console_sessions
  ADD COLUMN operator_id text REFERENCES operators (id) ON DELETE RESTRICT,
  DROP CONSTRAINT console_sessions_have_one_owner,
  ADD CONSTRAINT console_sessions_have_one_owner CHECK (num_nonnulls(account_id, key_id, operator_id) = 1);

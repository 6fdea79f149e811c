-- The whole schema. Amounts are bigint pico-USD, rates bigint pico-USD per token or unit, *_ms columns Unix milliseconds.
-- A database of version 0.1 has this schema already: see replaces.json.

-- Accounts, people and keys

CREATE TYPE account_state AS ENUM ('free_credit', 'active', 'exhausted', 'suspended');
CREATE TYPE key_kind AS ENUM ('standard', 'admin');
CREATE TYPE key_state AS ENUM ('active', 'revoked');
CREATE TYPE key_authority AS ENUM ('creator', 'manager', 'operator');
CREATE TYPE limit_reset AS ENUM ('none', 'daily', 'weekly', 'monthly');
CREATE TYPE free_credit_state AS ENUM ('unverified', 'granted', 'mailbox_used', 'network_used', 'budget_used');
CREATE TYPE member_role AS ENUM ('owner', 'admin', 'developer', 'billing');
CREATE TYPE operator_role AS ENUM ('admin', 'billing', 'support', 'viewer');
CREATE TYPE operator_state AS ENUM ('active', 'disabled');

CREATE TABLE accounts (
  id                  text PRIMARY KEY,
  -- Null: an organisation.
  email               text,
  state               account_state NOT NULL,
  balance_pico        bigint NOT NULL DEFAULT 0,
  version             bigint NOT NULL DEFAULT 0,
  created_at          timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  -- At or below it the balance is low and an event says so; null: no event.
  low_balance_pico    bigint DEFAULT 1000000000000,
  -- Money taken back that the balance did not hold: minus the account's receivable in the ledger.
  owed_pico           bigint NOT NULL DEFAULT 0,
  -- Limits over all keys of the account, set by operators; null: the gateway's default.
  requests_per_minute integer CHECK (requests_per_minute >= 1),
  concurrent_calls    integer CHECK (concurrent_calls >= 1),
  -- The hold of the cheapest call when the account last settled one; a balance below it pays for no call.
  least_call_pico     bigint NOT NULL DEFAULT 1,
  -- When the holder proved access to the mailbox of `email`; null: not yet.
  email_verified_at   timestamptz(3),
  -- Kinds of messages that the holder turned off.
  muted_mails         text[] NOT NULL DEFAULT '{}',
  -- Deleted by the holder: the row stays for the ledger, without personal data.
  deleted_at          timestamptz(3),
  -- Of an organisation.
  name                text,
  -- What all keys of the account may spend in a month (UTC); null: no cap.
  monthly_limit_pico  bigint CHECK (monthly_limit_pico >= 0),
  -- Since when requests are slowed down because of uncharged provider costs; null: they are not.
  slowed_at           timestamptz(3),
  CONSTRAINT accounts_balance_not_negative CHECK (balance_pico >= 0),
  CONSTRAINT accounts_low_balance_not_negative CHECK (low_balance_pico >= 0),
  CONSTRAINT accounts_owed_not_negative CHECK (owed_pico >= 0),
  CONSTRAINT accounts_deleted_stay_suspended CHECK (deleted_at IS NULL OR state = 'suspended'),
  CONSTRAINT accounts_have_email_or_name CHECK (num_nonnulls(email, name) = 1)
);
-- Every settlement rewrites its account's row; free space in each page keeps those updates off the indexes.
ALTER TABLE accounts SET (fillfactor = 50);
CREATE UNIQUE INDEX accounts_email_key ON accounts (email);
-- Sign-up and sign-in ignore the case of an address.
CREATE INDEX accounts_email_lower_idx ON accounts (lower(email));
CREATE INDEX accounts_owing_idx ON accounts (id) WHERE owed_pico > 0;

-- People who operate the gateway. Admin keys and operators' sessions belong to one of them.
CREATE TABLE operators (
  id           text PRIMARY KEY,
  name         text NOT NULL,
  -- Null: signs in with admin keys alone.
  email        text,
  role         operator_role NOT NULL,
  state        operator_state NOT NULL DEFAULT 'active',
  -- The operator at the single sign-on provider, set at the first sign-in: an address may change hands there.
  oidc_issuer  text,
  oidc_subject text,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT operators_oidc_is_whole CHECK ((oidc_issuer IS NULL) = (oidc_subject IS NULL))
);
-- An address that changed hands may belong to another operator once the former one is disabled.
CREATE UNIQUE INDEX operators_email_key ON operators (lower(email)) WHERE state = 'active';
CREATE UNIQUE INDEX operators_oidc_key ON operators (oidc_issuer, oidc_subject) WHERE state = 'active';

CREATE TABLE api_keys (
  id                           text PRIMARY KEY,
  account_id                   text REFERENCES accounts (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  kind                         key_kind NOT NULL,
  hash                         bytea NOT NULL,
  prefix                       text NOT NULL,
  suffix                       text NOT NULL,
  name                         text NOT NULL DEFAULT '',
  limit_pico                   bigint,
  limit_reset                  limit_reset NOT NULL DEFAULT 'none',
  expires_at                   timestamptz(3),
  -- Granted by operators; null: the gateway's default.
  requests_per_minute          integer,
  concurrent_calls             integer,
  state                        key_state NOT NULL DEFAULT 'active',
  created_at                   timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  revoked_at                   timestamptz(3),
  -- The master key of `hash`; null: issued before hashes named it, and not used since.
  hash_master_key_id           text,
  -- Set by the customer: may lower what operators grant, never raise it.
  customer_requests_per_minute integer CHECK (customer_requests_per_minute >= 1),
  customer_concurrent_calls    integer CHECK (customer_concurrent_calls >= 1),
  -- The person who made the key; null: made by an operator or a command.
  created_by                   text REFERENCES accounts (id) ON DELETE RESTRICT,
  paused_at                    timestamptz(3),
  -- Empty: all of them.
  allowed_models               text[] NOT NULL DEFAULT '{}',
  allowed_providers            text[] NOT NULL DEFAULT '{}',
  -- Days that prompts and completions of the key are kept; null: none are.
  prompt_log_days              integer,
  operator_id                  text REFERENCES operators (id) ON DELETE RESTRICT,
  -- What the key may do beside calls: manage provider keys, top up.
  scopes                       text[] NOT NULL DEFAULT '{}',
  -- The authority that paused the key; a lower one cannot resume it.
  paused_by                    key_authority,
  -- Limits set by authorities above the key's user, who cannot lift them.
  bounds                       jsonb,
  CONSTRAINT api_keys_admin_has_no_account CHECK ((kind = 'admin') = (account_id IS NULL)),
  CONSTRAINT api_keys_revoked_has_time CHECK ((state = 'revoked') = (revoked_at IS NOT NULL)),
  CONSTRAINT api_keys_limits_sane CHECK (limit_pico >= 0 AND requests_per_minute >= 1 AND concurrent_calls >= 1),
  CONSTRAINT api_keys_prompt_log_days CHECK (prompt_log_days BETWEEN 1 AND 30),
  CONSTRAINT api_keys_admin_has_operator CHECK ((kind = 'admin') = (operator_id IS NOT NULL))
);
CREATE UNIQUE INDEX api_keys_hash_key ON api_keys (hash);
CREATE INDEX api_keys_account_id_idx ON api_keys (account_id);
CREATE INDEX api_keys_operator_id_idx ON api_keys (operator_id) WHERE operator_id IS NOT NULL;

-- BYOK keys: clients' keys at providers.
CREATE TABLE provider_keys (
  id             text PRIMARY KEY,
  account_id     text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  provider_id    text NOT NULL,
  name           text NOT NULL DEFAULT '',
  secret_sealed  text NOT NULL,
  last4          text NOT NULL,
  allow_fallback boolean NOT NULL DEFAULT false,
  disabled       boolean NOT NULL DEFAULT false,
  refusals       integer NOT NULL DEFAULT 0,
  failing_since  timestamptz(3),
  last_error     text,
  last_error_at  timestamptz(3),
  created_at     timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  -- When the provider first accepted the key, or accepted it again after a refusal; null: never.
  accepted_at    timestamptz(3),
  CONSTRAINT provider_keys_error_has_time CHECK ((last_error IS NULL) = (last_error_at IS NULL))
);
CREATE INDEX provider_keys_account_id_idx ON provider_keys (account_id);

-- The gateway's keys at providers, stored by operators. A provider without a row uses the key of the environment.
CREATE TABLE platform_keys (
  provider_id   text PRIMARY KEY,
  -- The only origins that the key may be sent to.
  origins       text[] NOT NULL CHECK (cardinality(origins) > 0),
  secret_sealed text NOT NULL,
  last4         text NOT NULL,
  author        text NOT NULL,
  created_at    timestamptz(3) NOT NULL DEFAULT now()
);

-- Surfaces that operators opened to an account, with all its keys, or to one key.
CREATE TABLE surface_grants (
  id         text PRIMARY KEY,
  surface    text NOT NULL,
  account_id text REFERENCES accounts (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  key_id     text REFERENCES api_keys (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT surface_grants_one_holder CHECK (num_nonnulls(account_id, key_id) = 1)
);
CREATE UNIQUE INDEX surface_grants_account_id_surface_key ON surface_grants (account_id, surface);
CREATE UNIQUE INDEX surface_grants_key_id_surface_key ON surface_grants (key_id, surface);

-- Free credit of accounts that signed up, by mailbox.
CREATE TABLE free_credits (
  account_id text PRIMARY KEY REFERENCES accounts (id) ON DELETE RESTRICT,
  state      free_credit_state NOT NULL,
  -- The account's email as far as it names a mailbox: without tags, and without dots that do not count.
  mailbox    text NOT NULL,
  decided_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX free_credits_granted_mailbox_key ON free_credits (mailbox) WHERE state = 'granted';

-- Organisations are accounts with members in place of a holder. A member is the personal account of a person.
CREATE TABLE organisation_members (
  account_id          text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  person_id           text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  role                member_role NOT NULL,
  -- What keys of the member may spend in a month; null: no limit of their own.
  monthly_budget_pico bigint,
  created_at          timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, person_id),
  CONSTRAINT organisation_members_budget_not_negative CHECK (monthly_budget_pico >= 0)
);
CREATE INDEX organisation_members_person_id_idx ON organisation_members (person_id);

-- Open invitations. The token of the link is in email_tokens.
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

-- What people did to an account. Append-only for 400 days or until the account is deleted.
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
CREATE INDEX account_actions_created_at_idx ON account_actions (created_at);

CREATE FUNCTION account_actions_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.created_at < now() - interval '400 days' THEN
      RETURN OLD;
    END IF;
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

-- Sign-in

-- Accounts that sign in with a password. Apart from accounts, whose rows every settlement writes.
CREATE TABLE account_credentials (
  account_id    text PRIMARY KEY REFERENCES accounts (id) ON DELETE RESTRICT,
  -- Argon2id in its text form, with parameters and salt.
  password_hash text NOT NULL,
  changed_at    timestamptz(3) NOT NULL DEFAULT now()
);

-- One-time codes of an app.
CREATE TABLE account_totp (
  account_id    text PRIMARY KEY REFERENCES accounts (id) ON DELETE RESTRICT,
  -- Encrypted under the master key, bound to the account.
  secret_sealed text NOT NULL,
  -- When a first code proved that the app has the secret; null: codes are not required yet.
  confirmed_at  timestamptz(3),
  -- The time step of the last code that was accepted: none is accepted twice.
  last_step     bigint NOT NULL DEFAULT 0,
  created_at    timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE recovery_codes (
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  -- SHA-256; the codes are random and not stored.
  code_hash  bytea NOT NULL,
  PRIMARY KEY (account_id, code_hash)
);

CREATE TABLE passkeys (
  -- The credential's id, chosen by its authenticator; base64url.
  id           text PRIMARY KEY,
  account_id   text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  -- COSE.
  public_key   bytea NOT NULL,
  -- The authenticator's count of signatures; 0 where it does not count.
  counter      bigint NOT NULL,
  transports   text[] NOT NULL DEFAULT '{}',
  name         text NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  last_used_at timestamptz(3)
);
CREATE INDEX passkeys_account_id_idx ON passkeys (account_id);

-- Users of other services who sign in to an account here.
CREATE TABLE identities (
  provider   text NOT NULL,
  -- The provider's id of its user, which does not change when the address does.
  subject    text NOT NULL,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  -- The address when it was linked, for display.
  email      text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (provider, subject)
);
CREATE UNIQUE INDEX identities_account_id_provider_key ON identities (account_id, provider);

-- State between two requests of one sign-in. Found by the hash of its token, and used once.
CREATE TABLE sign_in_steps (
  token_hash bytea PRIMARY KEY,
  purpose    text NOT NULL,
  -- Null: not known yet.
  account_id text REFERENCES accounts (id) ON DELETE RESTRICT,
  data       jsonb NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX sign_in_steps_account_id_idx ON sign_in_steps (account_id);
CREATE INDEX sign_in_steps_expires_at_idx ON sign_in_steps (expires_at);

-- Sessions of browsers in the console: of an account holder, an admin key, or an operator who used single sign-on. Found
-- by the hash of its token.
CREATE TABLE console_sessions (
  token_hash        bytea PRIMARY KEY,
  account_id        text REFERENCES accounts (id) ON DELETE RESTRICT,
  key_id            text REFERENCES api_keys (id) ON DELETE RESTRICT,
  created_at        timestamptz(3) NOT NULL DEFAULT now(),
  expires_at        timestamptz(3) NOT NULL,
  -- Accurate to some minutes.
  last_used_at      timestamptz(3) NOT NULL DEFAULT now(),
  user_agent        text NOT NULL DEFAULT '',
  network_address   text NOT NULL DEFAULT '',
  -- The organisation that the session acts on; null: the account of the person.
  acting_account_id text REFERENCES accounts (id) ON DELETE RESTRICT,
  operator_id       text REFERENCES operators (id) ON DELETE RESTRICT,
  CONSTRAINT console_sessions_have_one_owner CHECK (num_nonnulls(account_id, key_id, operator_id) = 1)
);
CREATE INDEX console_sessions_account_id_idx ON console_sessions (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX console_sessions_acting_account_id_idx ON console_sessions (acting_account_id)
  WHERE acting_account_id IS NOT NULL;
CREATE INDEX console_sessions_expires_at_idx ON console_sessions (expires_at);

-- Links in messages; an account may have many. Found by the hash of its token.
CREATE TABLE email_tokens (
  token_hash bytea PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  expires_at timestamptz(3) NOT NULL,
  purpose    text NOT NULL,
  -- The address that the link was sent to.
  email      text NOT NULL
);
CREATE INDEX email_tokens_account_id_idx ON email_tokens (account_id);

-- Changes of an account's email. A change waits until the new address is confirmed, and then until the old address was
-- notified.
CREATE TABLE email_changes (
  id           text PRIMARY KEY,
  account_id   text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  old_email    text NOT NULL,
  new_email    text NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  confirmed_at timestamptz(3)
);
CREATE INDEX email_changes_account_id_idx ON email_changes (account_id);

-- The ledger. Triggers enforce its invariants, whatever code writes to it:
--   1. Append-only: UPDATE, DELETE and TRUNCATE of transactions and entries are refused.
--   2. Balanced: the entries that one statement adds to a transaction sum to zero, so every transaction's sum is zero at
--      all times, also after a later insert into an old one.
--   3. Not empty: a transaction has entries by the end of the statement that inserts it. Writers insert both in one
--      statement (data-modifying common table expressions), since these triggers run at its end.
--   4. Rooted: an entry has its transaction, a transaction its account, and an account is never deleted or renamed.
-- The triggers fire once a statement and check its rows as a set, so a batch of 200 pays for them once; foreign keys would
-- check row by row and cost settlement a third of its speed.

CREATE TYPE ledger_kind AS ENUM (
  'capture', 'free_credit', 'credit', 'adjustment', 'topup', 'refund', 'refund_reversal', 'dispute', 'dispute_won',
  'dispute_lost', 'collection', 'call_payment', 'call_payment_closed'
);

CREATE TABLE ledger_transactions (
  id         text NOT NULL,
  kind       ledger_kind NOT NULL,
  account_id text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (id, kind)
);
-- Movements of an account's money apart from its calls. Captures, which are nearly all of the table, are left out.
CREATE INDEX ledger_transactions_account_id_idx ON ledger_transactions (account_id) WHERE kind <> 'capture';

CREATE TABLE ledger_entries (
  transaction_id text NOT NULL,
  kind           ledger_kind NOT NULL,
  ledger_account text NOT NULL,
  amount_pico    bigint NOT NULL,
  PRIMARY KEY (transaction_id, kind, ledger_account),
  CONSTRAINT ledger_entries_amount_not_zero CHECK (amount_pico <> 0)
);

-- Why an operator moved money. Append-only: a correction is another adjustment.
CREATE TABLE ledger_notes (
  id         text NOT NULL,
  kind       ledger_kind NOT NULL,
  reason     text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (id, kind),
  CONSTRAINT ledger_notes_reason_given CHECK (reason <> '')
);

CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: the ledger is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation',
              HINT = 'Correct a mistake with a new transaction of kind adjustment.';
END;
$$;

CREATE TRIGGER ledger_transactions_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transactions
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

CREATE TRIGGER ledger_entries_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

CREATE TRIGGER accounts_stay
    BEFORE UPDATE OF id OR DELETE OR TRUNCATE ON accounts
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

CREATE FUNCTION ledger_check_entries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wrong RECORD;
BEGIN
    SELECT "added"."transaction_id", "added"."kind", "added"."total", "owner"."id" IS NULL AS "orphan" INTO wrong
        FROM (
            SELECT "transaction_id", "kind", sum("amount_pico") AS "total" FROM "added_entries" GROUP BY 1, 2
        ) AS "added"
        LEFT JOIN "ledger_transactions" AS "owner"
            ON "owner"."id" = "added"."transaction_id" AND "owner"."kind" = "added"."kind"
        WHERE "added"."total" <> 0 OR "owner"."id" IS NULL
        LIMIT 1;
    IF wrong."orphan" THEN
        RAISE EXCEPTION 'ledger entries of % (%) have no transaction', wrong."transaction_id", wrong."kind"
            USING ERRCODE = 'foreign_key_violation';
    ELSIF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % (%) does not balance: the added entries sum to %',
            wrong."transaction_id", wrong."kind", wrong."total"
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER ledger_entries_checked
    AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS added_entries
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_check_entries();

CREATE FUNCTION ledger_check_transactions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wrong RECORD;
BEGIN
    SELECT "added"."id", "added"."kind" INTO wrong FROM "added_transactions" AS "added"
        WHERE NOT EXISTS (SELECT 1 FROM "accounts" WHERE "accounts"."id" = "added"."account_id")
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % (%) names an unknown account', wrong."id", wrong."kind"
            USING ERRCODE = 'foreign_key_violation';
    END IF;
    SELECT "added"."id", "added"."kind" INTO wrong FROM "added_transactions" AS "added"
        WHERE NOT EXISTS (
            SELECT 1 FROM "ledger_entries" AS "entry"
            WHERE "entry"."transaction_id" = "added"."id" AND "entry"."kind" = "added"."kind"
        )
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % (%) has no entries', wrong."id", wrong."kind"
            USING ERRCODE = 'check_violation',
                  HINT = 'Insert a transaction and its entries in one statement.';
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER ledger_transactions_checked
    AFTER INSERT ON ledger_transactions REFERENCING NEW TABLE AS added_transactions
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_check_transactions();

CREATE TRIGGER ledger_notes_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_notes
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- The state of an account after a posting of `kind` changed its balance by `change` to `balance`. A suspension stays.
-- A balance that does not pay the cheapest call is exhausted; money makes an account active, its free credit does not.
CREATE FUNCTION account_state_after(
    state account_state, balance bigint, change bigint, kind ledger_kind, least_call bigint
) RETURNS account_state LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN "state" = 'suspended' THEN "state"
        WHEN "balance" < greatest("least_call", 1) THEN 'exhausted'
        WHEN "change" <= 0 THEN "state"
        WHEN "kind" <> 'free_credit' THEN 'active'
        WHEN "state" = 'exhausted' THEN 'free_credit'
        ELSE "state"
    END
$$;

-- One row each time that money which went back suspended an account. The id is the cause.
CREATE TABLE account_suspensions (
  id             text PRIMARY KEY,
  account_id     text NOT NULL,
  payment_id     text NOT NULL,
  reason         text NOT NULL,
  shortfall_pico bigint NOT NULL,
  created_at     timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX account_suspensions_account_id_idx ON account_suspensions (account_id);

-- Charges of an account, and what providers bill for attempts of its calls that no client pays, by day (UTC) of
-- settlement.
CREATE TABLE account_provider_costs (
  account_id     text NOT NULL REFERENCES accounts (id),
  day            date NOT NULL,
  charged_pico   bigint NOT NULL DEFAULT 0 CHECK (charged_pico >= 0),
  uncharged_pico bigint NOT NULL DEFAULT 0 CHECK (uncharged_pico >= 0),
  -- The part of uncharged_pico that the account caused and no operator has waived.
  caused_pico    bigint NOT NULL DEFAULT 0 CHECK (caused_pico BETWEEN 0 AND uncharged_pico),
  PRIMARY KEY (account_id, day)
);
CREATE INDEX account_provider_costs_day_caused_idx ON account_provider_costs (day) WHERE caused_pico > 0;

-- Calls

CREATE TYPE call_status AS ENUM ('completed', 'failed', 'cancelled', 'interrupted');
CREATE TYPE usage_source AS ENUM ('upstream', 'counted', 'none', 'estimated');

CREATE TABLE call_records (
  id                     text PRIMARY KEY,
  account_id             text NOT NULL,
  key_id                 text NOT NULL,
  request_id             text NOT NULL,
  status                 call_status NOT NULL,
  error_code             text,
  finish_reason          text,
  requested_model        text NOT NULL,
  stream                 boolean NOT NULL,
  served_offer_id        text,
  served_model_id        text,
  prompt_rate_pico       bigint,
  completion_rate_pico   bigint,
  rate_version           text,
  prompt_cost_pico       bigint,
  completion_cost_pico   bigint,
  prompt_tokens          integer NOT NULL,
  completion_tokens      integer NOT NULL,
  usage_source           usage_source NOT NULL,
  usage_clamped          boolean NOT NULL,
  hold_pico              bigint NOT NULL,
  charge_pico            bigint NOT NULL,
  attempts               jsonb NOT NULL,
  admitted_at_ms         bigint NOT NULL,
  claimed_at_ms          bigint,
  first_token_at_ms      bigint,
  finished_at_ms         bigint NOT NULL,
  settled_at_ms          bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  -- A call on a BYOK key is charged the routing fee only. No foreign key: the key may be deleted, its calls stay.
  is_byok                boolean NOT NULL DEFAULT false,
  provider_key_id        text,
  -- What `auto` chose by; null: the call named its model.
  auto_score             real,
  auto_tier              text,
  auto_profile           text,
  audio_tokens           integer NOT NULL DEFAULT 0,
  image_tokens           integer NOT NULL DEFAULT 0,
  prompt_audio_rate_pico bigint,
  prompt_image_rate_pico bigint,
  prompt_audio_cost_pico bigint,
  prompt_image_cost_pico bigint,
  -- The call that the same Idempotency-Key was charged for; this one is not charged.
  duplicate_of           text,
  -- Use that is not priced by tokens, searches for example.
  units                  integer NOT NULL DEFAULT 0,
  unit                   text,
  units_rate_pico        bigint,
  units_cost_pico        bigint,
  -- Tokens read from and written to prompt caches of providers.
  cached_tokens          integer NOT NULL DEFAULT 0,
  cache_write_tokens     integer NOT NULL DEFAULT 0,
  cache_read_rate_pico   bigint,
  cache_write_rate_pico  bigint,
  cache_read_cost_pico   bigint,
  cache_write_cost_pico  bigint,
  -- From the client, for its request log: app, address, metadata.
  labels                 jsonb,
  -- The hold in Redis when the call ended; null: it was hold_pico.
  redis_hold_pico        bigint,
  CONSTRAINT call_records_charge_within_hold CHECK (charge_pico >= 0 AND charge_pico <= hold_pico),
  CONSTRAINT call_records_tokens_not_negative CHECK (prompt_tokens >= 0 AND completion_tokens >= 0),
  CONSTRAINT call_records_charge_needs_service CHECK (charge_pico = 0 OR served_offer_id IS NOT NULL),
  CONSTRAINT call_records_byok_names_its_key CHECK (is_byok = (provider_key_id IS NOT NULL)),
  CONSTRAINT call_records_auto_whole
    CHECK ((auto_score IS NULL) = (auto_tier IS NULL) AND (auto_score IS NULL) = (auto_profile IS NULL)),
  CONSTRAINT call_records_duplicate_is_free CHECK (duplicate_of IS NULL OR charge_pico = 0)
);
-- What a key and an account spent in a period is read from these indexes alone.
CREATE INDEX call_records_key_id_admitted_at_ms_idx ON call_records (key_id, admitted_at_ms) INCLUDE (charge_pico);
CREATE INDEX call_records_account_id_admitted_at_ms_idx ON call_records (account_id, admitted_at_ms) INCLUDE (charge_pico);

CREATE TABLE quarantined_settlements (
  id         text PRIMARY KEY,
  reason     text NOT NULL,
  record     text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- Records of a call that differ from the one that counts, for the audit. A record without a serving provider (`unserved`)
-- is replaced by one that has one, whichever is settled first; of two records of calls that were served the first counts.
CREATE TABLE settlement_conflicts (
  id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  call_id           text NOT NULL,
  -- superseded: counted until the other was settled. dropped: never counted.
  outcome           text NOT NULL,
  unserved          boolean NOT NULL,
  status            call_status NOT NULL,
  error_code        text,
  served_offer_id   text,
  prompt_tokens     integer NOT NULL,
  completion_tokens integer NOT NULL,
  charge_pico       bigint NOT NULL,
  -- All columns of the record.
  record            jsonb NOT NULL,
  created_at        timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT settlement_conflicts_outcome_known CHECK (outcome IN ('superseded', 'dropped'))
);
-- A record that is settled again is stored once.
CREATE UNIQUE INDEX settlement_conflicts_record_key ON settlement_conflicts
  (call_id, unserved, status, error_code, served_offer_id, prompt_tokens, completion_tokens, charge_pico)
  NULLS NOT DISTINCT;
CREATE TRIGGER settlement_conflicts_append_only
  BEFORE UPDATE OR DELETE OR TRUNCATE ON settlement_conflicts
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- The row that a settlement replaces may be newer than the statement's snapshot; only a trigger certainly sees it. Labels are
-- left out: they are deleted with their account, and this table is append-only.
CREATE FUNCTION call_records_keep_superseded() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "settlement_conflicts" ("call_id", "outcome", "unserved", "status", "error_code", "served_offer_id",
                                        "prompt_tokens", "completion_tokens", "charge_pico", "record")
    VALUES (OLD."id", 'superseded', true, OLD."status", OLD."error_code", OLD."served_offer_id",
            OLD."prompt_tokens", OLD."completion_tokens", OLD."charge_pico", to_jsonb(OLD) - 'labels')
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END;
$$;
CREATE TRIGGER call_records_superseded AFTER UPDATE ON call_records FOR EACH ROW
  WHEN (OLD.served_offer_id IS NULL AND NEW.served_offer_id IS NOT NULL)
  EXECUTE FUNCTION call_records_keep_superseded();

-- Calls with findings of the audit on which a person decided. Append-only.
CREATE TABLE call_reviews (
  call_id    text PRIMARY KEY,
  note       text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT call_reviews_note_given CHECK (note <> '')
);
CREATE TRIGGER call_reviews_append_only
  BEFORE UPDATE OR DELETE OR TRUNCATE ON call_reviews
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- The call that an account's Idempotency-Key was charged for. Redis has it too, and may lose it.
CREATE TABLE idempotency_keys (
  account_id     text NOT NULL,
  key_digest     text NOT NULL,
  call_id        text NOT NULL,
  admitted_at_ms bigint NOT NULL,
  PRIMARY KEY (account_id, key_digest)
);
CREATE INDEX idempotency_keys_admitted_at_ms_idx ON idempotency_keys (admitted_at_ms);

-- Sealed bodies of calls that are too large for Redis, until the call has ended. Unlogged: prompts are not kept on disk, and
-- a call whose body was lost in a crash of the database is refused, which costs its client nothing.
CREATE UNLOGGED TABLE call_bodies (
  call_id    text PRIMARY KEY,
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
-- Sealed bytes do not compress.
ALTER TABLE call_bodies ALTER COLUMN sealed SET STORAGE EXTERNAL;
CREATE INDEX call_bodies_created_at_idx ON call_bodies (created_at);

-- Prompts and completions of keys whose holders opted in, sealed, until they expire.
CREATE TABLE prompt_logs (
  call_id    text PRIMARY KEY,
  account_id text NOT NULL,
  key_id     text NOT NULL,
  sealed     bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX prompt_logs_account_id_idx ON prompt_logs (account_id);
CREATE INDEX prompt_logs_key_id_idx ON prompt_logs (key_id);
CREATE INDEX prompt_logs_expires_at_idx ON prompt_logs (expires_at);

-- Bytes of the prompt logs of each account, so that a log which would exceed a bound is not stored. A trigger counts them: logs
-- are deleted by their age, with their key and with their account.
CREATE TABLE prompt_log_bytes (
  account_id text PRIMARY KEY,
  bytes      bigint NOT NULL
);

CREATE FUNCTION prompt_logs_count_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO prompt_log_bytes
    SELECT account_id, sum(octet_length(sealed)) FROM changed GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET bytes = prompt_log_bytes.bytes + EXCLUDED.bytes;
  ELSE
    UPDATE prompt_log_bytes SET bytes = prompt_log_bytes.bytes - deleted.bytes
    FROM (SELECT account_id, sum(octet_length(sealed)) AS bytes FROM changed GROUP BY account_id) AS deleted
    WHERE prompt_log_bytes.account_id = deleted.account_id;
    DELETE FROM prompt_log_bytes WHERE bytes <= 0 AND account_id IN (SELECT account_id FROM changed);
  END IF;
  RETURN NULL;
END;
$$;
CREATE TRIGGER prompt_logs_inserted AFTER INSERT ON prompt_logs
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION prompt_logs_count_bytes();
CREATE TRIGGER prompt_logs_deleted AFTER DELETE ON prompt_logs
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION prompt_logs_count_bytes();

-- Payments

CREATE TYPE payment_rail AS ENUM ('stripe', 'paypal', 'development');
CREATE TYPE payment_state AS ENUM ('created', 'pending', 'settled', 'failed', 'expired', 'refunded', 'disputed');
CREATE TYPE payment_event_outcome AS ENUM ('applied', 'ignored', 'refused');
CREATE TYPE call_payment_state AS ENUM ('authorized', 'left', 'settling', 'settled', 'released', 'unpaid', 'unproven');

CREATE TABLE payments (
  id             text PRIMARY KEY,
  account_id     text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  rail           payment_rail NOT NULL,
  state          payment_state NOT NULL DEFAULT 'created',
  amount_pico    bigint NOT NULL,
  checkout_id    text,
  checkout_url   text,
  charge_id      text,
  settled_pico   bigint NOT NULL DEFAULT 0,
  returned_pico  bigint NOT NULL DEFAULT 0,
  disputed_pico  bigint NOT NULL DEFAULT 0,
  movements      integer NOT NULL DEFAULT 0,
  failure_reason text,
  created_at     timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  settled_at     timestamptz(3),
  checked_at     timestamptz(3),
  -- The saved card that the payment charges, so that a repeated request asks for the same charge.
  customer_id    text,
  method_id      text,
  CONSTRAINT payments_amounts_sane CHECK (
    amount_pico > 0 AND returned_pico >= 0 AND disputed_pico >= 0
    AND returned_pico + disputed_pico <= settled_pico AND settled_pico IN (0, amount_pico)
  ),
  CONSTRAINT payments_settled_has_money CHECK (
    (state IN ('settled', 'refunded', 'disputed')) = (settled_pico > 0)
    AND (settled_pico > 0) = (settled_at IS NOT NULL)
  ),
  CONSTRAINT payments_charge_names_card CHECK ((customer_id IS NULL) = (method_id IS NULL))
);
CREATE UNIQUE INDEX payments_rail_checkout_id_key ON payments (rail, checkout_id);
CREATE UNIQUE INDEX payments_rail_charge_id_key ON payments (rail, charge_id);
CREATE INDEX payments_account_id_id_idx ON payments (account_id, id);
CREATE INDEX payments_open_idx ON payments (checked_at NULLS FIRST, id) WHERE state IN ('created', 'pending');
-- One charge of a saved card at a time.
CREATE UNIQUE INDEX payments_open_charge_key ON payments (account_id)
  WHERE method_id IS NOT NULL AND state IN ('created', 'pending');

-- Every event of a rail, stored before it is applied; the same id is the same event. The rail's own text is not stored, only
-- what the event says about the payment.
CREATE TABLE payment_events (
  rail        payment_rail NOT NULL,
  id          text NOT NULL,
  type        text NOT NULL,
  payment_id  text REFERENCES payments (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  reference   text,
  fact        jsonb,
  outcome     payment_event_outcome,
  detail      text,
  received_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (rail, id)
);
CREATE INDEX payment_events_payment_id_idx ON payment_events (payment_id);
CREATE INDEX payment_events_unmatched_idx ON payment_events (rail, reference) WHERE payment_id IS NULL;
CREATE INDEX payment_events_waiting_idx ON payment_events (received_at) WHERE outcome IS NULL AND payment_id IS NOT NULL;

-- The customer that an account is at a rail.
CREATE TABLE rail_customers (
  account_id  text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  rail        payment_rail NOT NULL,
  customer_id text NOT NULL,
  PRIMARY KEY (account_id, rail)
);

-- Pages of a rail that save a card. A page saves one card once: a repeated report changes nothing.
CREATE TABLE card_setups (
  rail        payment_rail NOT NULL,
  -- The rail's id of the page.
  id          text NOT NULL,
  account_id  text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  created_at  timestamptz(3) NOT NULL DEFAULT now(),
  finished_at timestamptz(3),
  PRIMARY KEY (rail, id)
);
CREATE INDEX card_setups_account_id_idx ON card_setups (account_id);

-- Cards that are charged without their holder. Only the rail's ids are stored, and what a holder recognizes the card by.
CREATE TABLE saved_cards (
  account_id  text PRIMARY KEY REFERENCES accounts (id) ON DELETE RESTRICT,
  rail        payment_rail NOT NULL,
  customer_id text NOT NULL,
  -- The rail's id of the card.
  method_id   text NOT NULL,
  brand       text NOT NULL,
  last4       text NOT NULL,
  exp_month   integer NOT NULL,
  exp_year    integer NOT NULL,
  saved_at    timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE auto_top_ups (
  account_id       text PRIMARY KEY REFERENCES accounts (id) ON DELETE RESTRICT,
  enabled          boolean NOT NULL,
  -- A balance below it is topped up.
  threshold_pico   bigint NOT NULL,
  amount_pico      bigint NOT NULL,
  -- Maximum of automatic top-ups in a calendar month (UTC).
  monthly_max_pico bigint NOT NULL,
  -- Charges since then count towards a pause: when the holder last saved the settings or a card.
  resumed_at       timestamptz(3) NOT NULL DEFAULT now(),
  -- The account is not examined before.
  wait_until       timestamptz(3),
  paused_at        timestamptz(3),
  pause_reason     text,
  CONSTRAINT auto_top_ups_amounts_sane
    CHECK (threshold_pico > 0 AND amount_pico > 0 AND monthly_max_pico >= amount_pico),
  CONSTRAINT auto_top_ups_pause_has_reason CHECK ((paused_at IS NULL) = (pause_reason IS NULL))
);

-- The recipient of an account's invoices.
CREATE TABLE billing_details (
  account_id text PRIMARY KEY REFERENCES accounts (id) ON DELETE RESTRICT,
  name       text NOT NULL,
  -- Lines of the address without the country.
  address    text NOT NULL,
  -- ISO 3166-1 alpha-2, or empty.
  country    text NOT NULL,
  tax_id     text NOT NULL,
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);

-- The last number of each series. It is raised in the transaction that inserts the invoice, so no number is lost.
CREATE TABLE invoice_series (
  issuer      text NOT NULL,
  prefix      text NOT NULL,
  last_number bigint NOT NULL,
  PRIMARY KEY (issuer, prefix)
);

-- Invoices of top-ups, and credit notes of money that went back. Append-only.
CREATE TABLE invoices (
  id          text PRIMARY KEY,
  account_id  text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  payment_id  text NOT NULL REFERENCES payments (id) ON DELETE RESTRICT,
  -- Among the payment's documents: 0 is the invoice of the top-up.
  position    integer NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('invoice', 'credit_note')),
  issuer      text NOT NULL,
  prefix      text NOT NULL,
  number      bigint NOT NULL,
  amount_pico bigint NOT NULL CHECK (amount_pico > 0),
  -- An InvoiceDocument: everything that is printed.
  document    jsonb NOT NULL,
  issued_at   timestamptz(3) NOT NULL,
  UNIQUE (payment_id, position),
  UNIQUE (issuer, prefix, number)
);
CREATE INDEX invoices_account_id_id_idx ON invoices (account_id, id);

CREATE FUNCTION invoices_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % refused: what was issued stays as it is', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation', HINT = 'Correct an invoice with a credit note.';
END;
$$;
CREATE TRIGGER invoices_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON invoices
  FOR EACH STATEMENT EXECUTE FUNCTION invoices_refuse_change();

-- Calls without a key, each paid by an x402 payment of its own.
CREATE TABLE call_payments (
  call_id         text PRIMARY KEY,
  network         text NOT NULL,
  asset           text NOT NULL,
  payer           text NOT NULL,
  nonce           text NOT NULL,
  amount_pico     bigint NOT NULL,
  request         jsonb NOT NULL,
  expires_at      timestamptz(3) NOT NULL,
  over_at         timestamptz(3) NOT NULL,
  state           call_payment_state NOT NULL DEFAULT 'authorized',
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3),
  transaction     text,
  reason          text,
  created_at      timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  decided_at      timestamptz(3),
  closed_at       timestamptz(3),
  -- Whole units of an asset with six decimals.
  CONSTRAINT call_payments_amount_sane CHECK (amount_pico > 0 AND amount_pico % 1000000 = 0),
  CONSTRAINT call_payments_settled_is_proven CHECK ((state = 'settled') = (transaction IS NOT NULL)),
  CONSTRAINT call_payments_closed_is_decided CHECK (closed_at IS NULL OR state IN ('settled', 'released', 'unpaid'))
);
-- An authorization pays for one call. A released one is unused and may pay for another.
CREATE UNIQUE INDEX call_payments_authorization_key ON call_payments (network, asset, payer, nonce)
  WHERE state <> 'released';
CREATE INDEX call_payments_open_idx ON call_payments (created_at) WHERE closed_at IS NULL;
CREATE INDEX call_payments_open_payer_idx ON call_payments (payer) WHERE closed_at IS NULL;
-- Due payments, nearest expiry first.
CREATE INDEX call_payments_settling_idx ON call_payments (expires_at) WHERE closed_at IS NULL AND state = 'settling';
-- Debts of a wallet, certain or possible, and its latest payment: they decide about its next call.
CREATE INDEX call_payments_unpaid_payer_idx ON call_payments (payer) WHERE state IN ('unpaid', 'unproven');
CREATE INDEX call_payments_settled_payer_idx ON call_payments (payer, created_at) WHERE state = 'settled';

-- Events and webhooks: an outbox written in the transaction of the change, the endpoints that subscribed, and one row for every
-- delivery of an event to an endpoint.

CREATE TYPE delivery_state AS ENUM ('pending', 'delivered', 'failed');

CREATE TABLE webhook_endpoints (
  id                     text PRIMARY KEY,
  account_id             text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  url                    text NOT NULL,
  secret_sealed          text NOT NULL,
  previous_secret_sealed text,
  previous_secret_until  timestamptz(3),
  event_types            text[],
  enabled                boolean NOT NULL DEFAULT true,
  disabled_reason        text,
  failing_since          timestamptz(3),
  created_at             timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  -- When the endpoint responded fast, and until when it counts as slow: its deliveries wait among those of its kind.
  proven_at              timestamptz(3),
  slow_until             timestamptz(3),
  CONSTRAINT webhook_endpoints_previous_secret_ends
    CHECK ((previous_secret_sealed IS NULL) = (previous_secret_until IS NULL))
);
CREATE INDEX webhook_endpoints_account_id_idx ON webhook_endpoints (account_id);

-- No foreign key to accounts, which are never deleted: it would lock the account's row for every event.
CREATE TABLE events (
  id            text PRIMARY KEY,
  type          text NOT NULL,
  account_id    text NOT NULL,
  endpoint_id   text,
  data          jsonb NOT NULL,
  created_at    timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  fanned_out_at timestamptz(3)
);
CREATE INDEX events_account_id_created_at_idx ON events (account_id, created_at);
CREATE INDEX events_created_at_idx ON events (created_at);
CREATE INDEX events_waiting_idx ON events (created_at, id) WHERE fanned_out_at IS NULL;

CREATE TABLE webhook_deliveries (
  id              text PRIMARY KEY,
  event_id        text NOT NULL REFERENCES events (id) ON DELETE CASCADE ON UPDATE CASCADE,
  endpoint_id     text NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE ON UPDATE CASCADE,
  state           delivery_state NOT NULL DEFAULT 'pending',
  attempts        integer NOT NULL DEFAULT 0,
  status_code     integer,
  error           text,
  duration_ms     integer,
  attempt_log     jsonb NOT NULL DEFAULT '[]',
  next_attempt_at timestamptz(3),
  queued_until    timestamptz(3),
  created_at      timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  finished_at     timestamptz(3),
  CONSTRAINT webhook_deliveries_pending_has_next CHECK ((state = 'pending') = (next_attempt_at IS NOT NULL)),
  CONSTRAINT webhook_deliveries_finished_has_time CHECK ((state = 'pending') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX webhook_deliveries_event_id_endpoint_id_key ON webhook_deliveries (event_id, endpoint_id);
CREATE INDEX webhook_deliveries_endpoint_id_created_at_idx ON webhook_deliveries (endpoint_id, created_at);
CREATE INDEX webhook_deliveries_pending_idx ON webhook_deliveries (next_attempt_at) WHERE state = 'pending';

-- One message per event and recipient. It is queued under a lease, and queued again if its job was lost.
CREATE TABLE event_mails (
  event_id     text NOT NULL REFERENCES events (id) ON DELETE CASCADE,
  -- The personal account of the recipient.
  account_id   text NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  queued_until timestamptz(3),
  -- Sent, refused by the mail server, or given up.
  finished_at  timestamptz(3),
  PRIMARY KEY (event_id, account_id)
);
CREATE INDEX event_mails_account_id_created_at_idx ON event_mails (account_id, created_at);
CREATE INDEX event_mails_pending_idx ON event_mails (created_at) WHERE finished_at IS NULL;

-- The same id for the same type and cause, as `eventId` of the service computes it.
CREATE FUNCTION event_id(type text, cause text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'evt_' || left(encode(sha256(convert_to("type" || ':' || "cause", 'UTF8')), 'hex'), 32)
$$;

-- Pico-USD as the shortest exact decimal of USD with at least two decimals, as src/core/kernel/money.ts prints it.
CREATE FUNCTION usd_text(amount_pico bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN scale(trim_scale("amount_pico" * 0.000000000001)) < 2
                THEN round("amount_pico" * 0.000000000001, 2)::text
                ELSE trim_scale("amount_pico" * 0.000000000001)::text END
$$;

-- Records that a balance fell to its threshold, or that an account became exhausted. The account's row is locked, so every
-- crossing is seen once, whatever statement moved the money; the version makes the id. WHEN is evaluated in place: an update
-- without a crossing calls no function. The account of x402 calls is empty between them, which is no event.
CREATE FUNCTION record_balance_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW."balance_pico" < OLD."balance_pico"
       AND OLD."balance_pico" > NEW."low_balance_pico" AND NEW."balance_pico" <= NEW."low_balance_pico" THEN
        INSERT INTO "events" ("id", "type", "account_id", "data") VALUES (
            "event_id"('balance.low', NEW."id" || ':' || NEW."version"), 'balance.low', NEW."id",
            jsonb_build_object('balance_usd', "usd_text"(NEW."balance_pico"),
                               'threshold_usd', "usd_text"(NEW."low_balance_pico")))
        ON CONFLICT ("id") DO NOTHING;
    END IF;
    IF OLD."state" NOT IN ('exhausted', 'suspended') AND NEW."state" = 'exhausted' THEN
        INSERT INTO "events" ("id", "type", "account_id", "data") VALUES (
            "event_id"('balance.exhausted', NEW."id" || ':' || NEW."version"), 'balance.exhausted', NEW."id",
            jsonb_build_object('balance_usd', "usd_text"(NEW."balance_pico")))
        ON CONFLICT ("id") DO NOTHING;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER accounts_balance_events AFTER UPDATE ON accounts FOR EACH ROW
  WHEN (((NEW.balance_pico < OLD.balance_pico
          AND OLD.balance_pico > NEW.low_balance_pico AND NEW.balance_pico <= NEW.low_balance_pico)
         OR (OLD.state NOT IN ('exhausted', 'suspended') AND NEW.state = 'exhausted'))
        AND NEW.id <> 'acct_x402')
  EXECUTE FUNCTION record_balance_event();

-- Records for the key's account that the key was revoked. Admin keys have no account.
CREATE FUNCTION record_key_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "events" ("id", "type", "account_id", "data") VALUES (
        "event_id"('key.revoked', NEW."id"), 'key.revoked', NEW."account_id",
        jsonb_build_object('key_id', NEW."id", 'name', NEW."name", 'hint', NEW."prefix" || '…' || NEW."suffix",
                           'revoked_at', to_char(NEW."revoked_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
    ON CONFLICT ("id") DO NOTHING;
    RETURN NULL;
END;
$$;
CREATE TRIGGER api_keys_revoked_events AFTER UPDATE ON api_keys FOR EACH ROW
  WHEN (OLD.state = 'active' AND NEW.state = 'revoked' AND NEW.account_id IS NOT NULL)
  EXECUTE FUNCTION record_key_event();

-- Records for the key's account that a provider started to refuse the key.
CREATE FUNCTION record_provider_key_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "events" ("id", "type", "account_id", "data") VALUES (
        "event_id"('provider_key.failing', NEW."id" || ':' || extract(epoch FROM NEW."failing_since")),
        'provider_key.failing', NEW."account_id",
        jsonb_build_object('provider_key_id', NEW."id", 'provider', NEW."provider_id", 'name', NEW."name",
                           'last4', NEW."last4", 'error', NEW."last_error"))
    ON CONFLICT ("id") DO NOTHING;
    RETURN NULL;
END;
$$;
CREATE TRIGGER provider_keys_failing_events AFTER UPDATE ON provider_keys FOR EACH ROW
  WHEN (OLD.failing_since IS NULL AND NEW.failing_since IS NOT NULL)
  EXECUTE FUNCTION record_provider_key_event();

-- Catalog: edits of operators, and all rates that models ever had. Append-only: a correction is a new row, and the last row
-- counts.

CREATE TABLE catalog_documents (
  id         bigserial PRIMARY KEY,
  content    jsonb NOT NULL,
  author     text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT catalog_documents_author_given CHECK (author <> ''),
  CONSTRAINT catalog_documents_object CHECK (jsonb_typeof(content) = 'object')
);

CREATE TABLE rate_versions (
  id                bigserial PRIMARY KEY,
  model_id          text NOT NULL,
  rate_version      text NOT NULL,
  prompt            bigint NOT NULL,
  completion        bigint NOT NULL,
  list_prompt       bigint NOT NULL,
  list_completion   bigint NOT NULL,
  source            text NOT NULL,
  effective_at      timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  prompt_audio      bigint,
  prompt_image      bigint,
  list_prompt_audio bigint,
  list_prompt_image bigint,
  units             bigint,
  list_units        bigint,
  cache_read        bigint,
  cache_write       bigint,
  list_cache_read   bigint,
  list_cache_write  bigint,
  CONSTRAINT rate_versions_not_negative
    CHECK (prompt >= 0 AND completion >= 0 AND list_prompt >= 0 AND list_completion >= 0)
);
CREATE INDEX rate_versions_model_id_id_idx ON rate_versions (model_id, id DESC);
CREATE INDEX rate_versions_rate_version_idx ON rate_versions (rate_version);

CREATE FUNCTION catalog_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: the catalog''s history is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER catalog_documents_append_only
  BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog_documents
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_refuse_change();
CREATE TRIGGER rate_versions_append_only
  BEFORE UPDATE OR DELETE OR TRUNCATE ON rate_versions
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_refuse_change();

-- Operations

-- Settings that operators changed.
CREATE TABLE gateway_settings (
  name       text PRIMARY KEY,
  value      jsonb NOT NULL,
  changed_at timestamptz(3) NOT NULL DEFAULT now()
);

-- Outcomes of attempts at providers by the hour, for the status page of providers.
CREATE TABLE provider_hours (
  provider_id text NOT NULL,
  hour        timestamptz(3) NOT NULL,
  succeeded   integer NOT NULL,
  failed      integer NOT NULL,
  PRIMARY KEY (provider_id, hour),
  CONSTRAINT provider_hours_counts CHECK (succeeded >= 0 AND failed >= 0)
);
CREATE INDEX provider_hours_hour_idx ON provider_hours (hour);

-- Append-only. An action is recorded before it runs.
CREATE TABLE operator_actions (
  id         text PRIMARY KEY,
  at         timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  actor      text NOT NULL,
  action     text NOT NULL,
  target     text NOT NULL,
  outcome    text NOT NULL,
  details    jsonb NOT NULL,
  request_id text NOT NULL,
  CONSTRAINT operator_actions_outcome_known CHECK (outcome IN ('asked', 'failed'))
);
CREATE INDEX operator_actions_target_id_idx ON operator_actions (target, id);

CREATE FUNCTION operator_actions_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: the record of operators'' actions is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END;
$$;
CREATE TRIGGER operator_actions_append_only
  BEFORE UPDATE OR DELETE OR TRUNCATE ON operator_actions
  FOR EACH STATEMENT EXECUTE FUNCTION operator_actions_refuse_change();

CREATE TABLE audit_runs (
  id            text PRIMARY KEY,
  at            timestamptz(3) NOT NULL,
  duration_ms   integer NOT NULL,
  ok            boolean NOT NULL,
  cause         text NOT NULL,
  figures       jsonb NOT NULL,
  checks        jsonb NOT NULL,
  discrepancies jsonb NOT NULL
);

CREATE TABLE alarms (
  id              text PRIMARY KEY,
  kind            text NOT NULL,
  subject         text NOT NULL,
  message         text NOT NULL,
  first_at        timestamptz(3) NOT NULL,
  last_at         timestamptz(3) NOT NULL,
  count           integer NOT NULL,
  fields          jsonb NOT NULL,
  acknowledged_at timestamptz(3),
  acknowledged_by text,
  -- When its condition ended.
  resolved_at     timestamptz(3),
  CONSTRAINT alarms_acknowledged_by_somebody CHECK ((acknowledged_at IS NULL) = (acknowledged_by IS NULL))
);
-- Repetitions are added to the open alarm; once it is acknowledged, the next one opens another.
CREATE UNIQUE INDEX alarms_open_kind_subject_key ON alarms (kind, subject) WHERE acknowledged_at IS NULL;

-- The last entry of the alarm stream in Redis that was stored. One row.
CREATE TABLE alarm_cursor (
  id       integer PRIMARY KEY,
  entry_id text NOT NULL,
  CONSTRAINT alarm_cursor_one_row CHECK (id = 1)
);
INSERT INTO alarm_cursor (id, entry_id) VALUES (1, '0-0');

CREATE TABLE alarm_destinations (
  id               text PRIMARY KEY,
  kind             text NOT NULL,
  name             text NOT NULL,
  -- Address, URL or routing key: it lets its reader send messages there.
  target_sealed    text NOT NULL,
  -- The part of it that may be shown.
  target_hint      text NOT NULL,
  minimum_severity text NOT NULL,
  enabled          boolean NOT NULL DEFAULT true,
  created_at       timestamptz(3) NOT NULL DEFAULT now(),
  -- One message at a time: its sender's lease, its attempts, and when the next is due.
  leased_until     timestamptz(3),
  attempts         integer NOT NULL DEFAULT 0,
  next_attempt_at  timestamptz(3),
  delivered_at     timestamptz(3),
  failing_since    timestamptz(3),
  error            text,
  CONSTRAINT alarm_destinations_kind_known CHECK (kind IN ('email', 'slack', 'pagerduty')),
  CONSTRAINT alarm_destinations_severity_known CHECK (minimum_severity IN ('info', 'warning', 'critical'))
);

-- Notices for a destination, in order; each is sent, alone or with others, or given up.
CREATE TABLE alarm_notices (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  destination_id text NOT NULL REFERENCES alarm_destinations (id) ON DELETE CASCADE,
  -- Null: a test.
  alarm_id       text REFERENCES alarms (id) ON DELETE CASCADE,
  event          text NOT NULL,
  created_at     timestamptz(3) NOT NULL DEFAULT now(),
  sent_at        timestamptz(3),
  given_up_at    timestamptz(3),
  CONSTRAINT alarm_notices_event_known CHECK (event IN ('opened', 'acknowledged', 'resolved', 'test')),
  CONSTRAINT alarm_notices_test_alone CHECK ((event = 'test') = (alarm_id IS NULL))
);
CREATE INDEX alarm_notices_waiting_idx ON alarm_notices (destination_id, id) WHERE sent_at IS NULL AND given_up_at IS NULL;
CREATE INDEX alarm_notices_sent_idx ON alarm_notices (destination_id, sent_at);
CREATE INDEX alarm_notices_alarm_id_idx ON alarm_notices (alarm_id);

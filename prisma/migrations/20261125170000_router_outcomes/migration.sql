-- The kind of task of a call of `auto`, so that feedback on the call can be counted by model and kind.
ALTER TABLE call_records ADD COLUMN auto_kind text;

-- How calls of `auto` were answered: by feedback of their account, or by a comparison of two models. No text of any call.
CREATE TABLE router_outcomes (
  call_id         text NOT NULL,
  source          text NOT NULL CHECK (source IN ('feedback', 'shadow')),
  account_id      text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  kind            text NOT NULL,
  score           real NOT NULL,
  model_id        text NOT NULL,
  outcome         real NOT NULL CHECK (outcome BETWEEN 0 AND 1),
  cost_pico       bigint NOT NULL,
  vector          bytea,
  other_model_id  text,
  other_outcome   real CHECK (other_outcome BETWEEN 0 AND 1),
  other_cost_pico bigint,
  created_at      timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (call_id, source),
  CHECK ((source = 'shadow') = (num_nonnulls(vector, other_model_id, other_outcome, other_cost_pico) = 4))
);
CREATE INDEX router_outcomes_account_id_idx ON router_outcomes (account_id);
CREATE INDEX router_outcomes_created_at_idx ON router_outcomes (created_at);

-- What `router learn` made of them. The installed version is the one installed last; without one, the shipped router applies.
CREATE TABLE router_versions (
  id           bigserial PRIMARY KEY,
  content      jsonb NOT NULL,
  report       jsonb NOT NULL,
  author       text NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  installed_at timestamptz(3)
);

-- What an account was charged, and what providers bill for attempts of its calls that no client pays, by day (UTC) of
-- settlement, in pico-USD. Settlement adds.
CREATE TABLE account_provider_costs (
  account_id text NOT NULL REFERENCES accounts (id),
  day date NOT NULL,
  charged_pico bigint NOT NULL DEFAULT 0 CHECK (charged_pico >= 0),
  uncharged_pico bigint NOT NULL DEFAULT 0 CHECK (uncharged_pico >= 0),
  -- Of that, what the account caused and no operator has waived.
  caused_pico bigint NOT NULL DEFAULT 0 CHECK (caused_pico BETWEEN 0 AND uncharged_pico),
  PRIMARY KEY (account_id, day)
);

CREATE INDEX account_provider_costs_day_caused_idx ON account_provider_costs (day) WHERE caused_pico > 0;

-- Since when an account's requests are slowed down for what it cost; null: they are not.
ALTER TABLE accounts ADD COLUMN slowed_at timestamptz(3);

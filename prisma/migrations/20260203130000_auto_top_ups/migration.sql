-- Cards that are saved at a rail and charged without their holder, and automatic top-ups with them. Only the rail's ids are
-- kept, and what a card is recognized by.

-- Who an account is at a rail.
CREATE TABLE rail_customers (
  account_id  text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  rail        payment_rail NOT NULL,
  customer_id text NOT NULL,
  PRIMARY KEY (account_id, rail)
);

-- Pages of a rail that save a card. Each saves one, once: a page that is reported again changes nothing.
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
  -- Of automatic top-ups in a calendar month, UTC.
  monthly_max_pico bigint NOT NULL,
  -- Since when charges count towards a pause: when the holder last saved the settings or a card.
  resumed_at       timestamptz(3) NOT NULL DEFAULT now(),
  -- Not looked at before.
  wait_until       timestamptz(3),
  paused_at        timestamptz(3),
  pause_reason     text,
  CONSTRAINT auto_top_ups_amounts_sane
    CHECK (threshold_pico > 0 AND amount_pico > 0 AND monthly_max_pico >= amount_pico),
  CONSTRAINT auto_top_ups_pause_has_reason CHECK ((paused_at IS NULL) = (pause_reason IS NULL))
);

-- A payment that charges a saved card names it, so that asking again asks for the same charge.
ALTER TABLE payments
  ADD COLUMN customer_id text,
  ADD COLUMN method_id   text,
  ADD CONSTRAINT payments_charge_names_card CHECK ((customer_id IS NULL) = (method_id IS NULL));
-- One charge of a saved card at a time.
CREATE UNIQUE INDEX payments_open_charge_key ON payments (account_id)
  WHERE method_id IS NOT NULL AND state IN ('created', 'pending');

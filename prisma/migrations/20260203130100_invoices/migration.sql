-- Invoices of top-ups, and credit notes of what went back. Each keeps what is printed on it.

-- Whom an account's invoices are made out to.
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

-- The last number of each series. It is raised in the transaction that inserts the invoice, so a number is lost with nothing.
CREATE TABLE invoice_series (
  issuer      text NOT NULL,
  prefix      text NOT NULL,
  last_number bigint NOT NULL,
  PRIMARY KEY (issuer, prefix)
);

CREATE TABLE invoices (
  id          text PRIMARY KEY,
  account_id  text NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
  payment_id  text NOT NULL REFERENCES payments (id) ON DELETE RESTRICT,
  -- Of its payment: 0 is the invoice of the top-up.
  position    integer NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('invoice', 'credit_note')),
  issuer      text NOT NULL,
  prefix      text NOT NULL,
  number      bigint NOT NULL,
  amount_pico bigint NOT NULL CHECK (amount_pico > 0),
  -- What is printed: see InvoiceDocument in src/core/billing/invoice.ts.
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

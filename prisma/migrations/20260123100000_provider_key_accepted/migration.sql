-- When its provider was first known to take a client's key, or took it again after a refusal; null: it never has.

ALTER TABLE provider_keys ADD COLUMN accepted_at timestamptz(3);

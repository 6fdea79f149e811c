-- The secret of a key before its last rotation, which is valid until a time that its user chose.
ALTER TABLE api_keys
  ADD COLUMN previous_hash bytea,
  ADD COLUMN previous_until timestamptz(3);

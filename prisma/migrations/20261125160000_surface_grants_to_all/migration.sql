-- A surface may be opened to all accounts: a grant without a holder, at most one for each surface.
ALTER TABLE surface_grants
  DROP CONSTRAINT surface_grants_one_holder,
  ADD CONSTRAINT surface_grants_one_holder CHECK (num_nonnulls(account_id, key_id) <= 1);
CREATE UNIQUE INDEX surface_grants_to_all ON surface_grants (surface) WHERE account_id IS NULL AND key_id IS NULL;

-- A provider has any number of platform keys; those stored before are its main ones. Calls read copies in Redis, so that of a process
-- of the version before only an operator's storing of a key fails, until it is replaced.
ALTER TABLE platform_keys
  ADD COLUMN id text NOT NULL DEFAULT 'main',
  ADD COLUMN name text NOT NULL DEFAULT '',
  ADD COLUMN weight integer NOT NULL DEFAULT 1 CHECK (weight > 0),
  -- Null: not limited here.
  ADD COLUMN requests_per_minute integer CHECK (requests_per_minute > 0),
  ADD COLUMN tokens_per_minute integer CHECK (tokens_per_minute > 0),
  ADD COLUMN state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'draining', 'disabled')),
  -- Null: the settings of the key of the environment.
  ALTER COLUMN secret_sealed DROP NOT NULL,
  DROP CONSTRAINT platform_keys_pkey,
  ADD PRIMARY KEY (provider_id, id);

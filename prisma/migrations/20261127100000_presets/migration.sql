-- Named settings of chat calls, by account. A version never changes, and no number is used twice, even after a deletion.
CREATE TABLE presets (
  account_id     text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name           text NOT NULL,
  latest_version integer NOT NULL,
  created_at     timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  deleted_at     timestamptz(3),
  PRIMARY KEY (account_id, name)
);

CREATE TABLE preset_versions (
  id              text PRIMARY KEY,
  account_id      text NOT NULL,
  name            text NOT NULL,
  version         integer NOT NULL CHECK (version > 0),
  settings_sealed text NOT NULL,
  author          text NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  FOREIGN KEY (account_id, name) REFERENCES presets ON DELETE CASCADE
);
CREATE UNIQUE INDEX preset_versions_account_id_name_version_key ON preset_versions (account_id, name, version);

-- Only the seal may change, when the master key is replaced.
CREATE FUNCTION preset_versions_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a version of a preset does not change';
END;
$$;
CREATE TRIGGER preset_versions_unchanged BEFORE UPDATE OF id, account_id, name, version, author, created_at ON preset_versions
  FOR EACH ROW EXECUTE FUNCTION preset_versions_refuse_change();

-- Budgets that group calls of an account beside its keys and members: of a project, which has keys, and of each value of a tag or
-- an end user that calls name. A group has the calls that were admitted in it, and totals like those of a key.
CREATE TABLE group_budgets (
  account_id  text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  scope       text NOT NULL CHECK (scope IN ('project', 'tag', 'user')),
  -- Of a project its name; of a tag `<name>=<value>`; empty: the rule for every value of the tag or end user.
  value       text NOT NULL CHECK (char_length(value) <= 200 AND (value <> '' OR scope <> 'project')),
  -- Of the rule for tags: the member of `metadata` whose values have the budgets.
  tag         text CHECK ((tag IS NOT NULL) = (scope = 'tag' AND value = '')),
  -- Null: of a value, as the rule says; of a project or rule, no limit.
  limit_pico  bigint CHECK (limit_pico >= 0),
  limit_reset limit_reset NOT NULL DEFAULT 'monthly',
  created_at  timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, scope, value)
);

ALTER TABLE api_keys ADD COLUMN project text;
CREATE INDEX api_keys_account_id_project_idx ON api_keys (account_id, project) WHERE project IS NOT NULL;

-- The groups of a call are in its labels: the same functions, with these holders. Calls so far have none.
DO $migration$
DECLARE
  before CONSTANT text := 'UNION SELECT call.key_id)';
  holders CONSTANT text := $sql$UNION SELECT call.key_id
                      UNION SELECT value #>> '{}' FROM jsonb_path_query(call.labels, '$.groups[*]') AS value)$sql$;
  name text;
  definition text;
BEGIN
  FOREACH name IN ARRAY ARRAY['call_records_add_totals', 'call_records_change_totals'] LOOP
    definition := pg_get_functiondef(name::regproc);
    IF position(before IN definition) = 0 THEN
      RAISE EXCEPTION 'the function % does not add to the totals of keys', name;
    END IF;
    EXECUTE replace(definition, before, holders);
  END LOOP;
END;
$migration$;

-- Who paused a key, and what those above its user limited it to: neither is lifted below them. Nullable columns change
-- no row. Of keys that are paused now the records of actions say by whom; limits that exist have no author and bind nobody.
CREATE TYPE key_authority AS ENUM ('creator', 'manager', 'operator');
ALTER TABLE api_keys ADD COLUMN paused_by key_authority;
ALTER TABLE api_keys ADD COLUMN bounds jsonb;

UPDATE api_keys AS key SET paused_by = CASE
  WHEN EXISTS (
    SELECT FROM operator_actions AS done
    WHERE done.target = key.id AND done.action = 'key.pause'
      AND done.at BETWEEN key.paused_at - interval '1 minute' AND key.paused_at + interval '1 minute'
  ) THEN 'operator'::key_authority
  WHEN EXISTS (
    SELECT FROM account_actions AS done
    WHERE done.account_id = key.account_id AND done.target = key.id AND done.action = 'key.paused'
      AND done.person_id <> key.created_by
      AND done.created_at BETWEEN key.paused_at - interval '1 minute' AND key.paused_at + interval '1 minute'
  ) THEN 'manager'::key_authority
  ELSE 'creator'::key_authority
END
WHERE paused_at IS NOT NULL;

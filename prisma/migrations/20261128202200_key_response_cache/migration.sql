-- For how many seconds a key's calls are answered by the first response to the same request. Null: they are not.
ALTER TABLE api_keys ADD COLUMN cache_seconds integer CHECK (cache_seconds BETWEEN 1 AND 86400);

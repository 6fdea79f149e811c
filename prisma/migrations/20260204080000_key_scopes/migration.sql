-- What a key may do beside calls: manage provider keys, top up. None by default, and none for keys that exist: whoever
-- has one had both until now. A constant default rewrites no row.
ALTER TABLE api_keys ADD COLUMN scopes text[] NOT NULL DEFAULT '{}';

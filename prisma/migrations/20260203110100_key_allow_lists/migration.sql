-- The models and providers that a key may use; empty: all of them. A constant default rewrites no row.
ALTER TABLE api_keys ADD COLUMN allowed_models text[] NOT NULL DEFAULT '{}';
ALTER TABLE api_keys ADD COLUMN allowed_providers text[] NOT NULL DEFAULT '{}';

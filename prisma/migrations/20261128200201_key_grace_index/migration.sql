CREATE UNIQUE INDEX api_keys_previous_hash_key ON api_keys (previous_hash) WHERE previous_hash IS NOT NULL;

-- Keys that their holder paused. A nullable column changes no row; what is revoked stays so, paused or not.
ALTER TABLE api_keys ADD COLUMN paused_at timestamptz(3);

-- Bodies of calls that are too large for Redis, sealed, until the call has ended. Unlogged: a prompt rests nowhere, and
-- a call whose body a crash of the database took is refused, which costs its client nothing.
CREATE UNLOGGED TABLE call_bodies (
  call_id    text PRIMARY KEY,
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
-- Sealed bytes do not compress.
ALTER TABLE call_bodies ALTER COLUMN sealed SET STORAGE EXTERNAL;
CREATE INDEX call_bodies_created_at_idx ON call_bodies (created_at);

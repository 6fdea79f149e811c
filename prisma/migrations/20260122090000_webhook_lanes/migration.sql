-- Whether an endpoint is known to answer soon, and until when it counts as slow: its deliveries wait for their own kind.

ALTER TABLE webhook_endpoints ADD COLUMN proven_at timestamptz(3), ADD COLUMN slow_until timestamptz(3);

UPDATE webhook_endpoints SET proven_at = now() WHERE failing_since IS NULL;

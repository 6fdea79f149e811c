-- Alarms whose condition is over, and where alarms are sent.

ALTER TABLE alarms ADD COLUMN resolved_at timestamptz(3);

CREATE TABLE alarm_destinations (
  id               text PRIMARY KEY,
  kind             text NOT NULL,
  name             text NOT NULL,
  -- Address, URL or routing key, which let anybody who knows them write there.
  target_sealed    text NOT NULL,
  -- What of it may be shown.
  target_hint      text NOT NULL,
  minimum_severity text NOT NULL,
  enabled          boolean NOT NULL DEFAULT true,
  created_at       timestamptz(3) NOT NULL DEFAULT now(),
  -- One message at a time: whose turn it is, how often it was tried, and when again.
  leased_until     timestamptz(3),
  attempts         integer NOT NULL DEFAULT 0,
  next_attempt_at  timestamptz(3),
  delivered_at     timestamptz(3),
  failing_since    timestamptz(3),
  error            text,
  CONSTRAINT alarm_destinations_kind_known CHECK (kind IN ('email', 'slack', 'pagerduty')),
  CONSTRAINT alarm_destinations_severity_known CHECK (minimum_severity IN ('info', 'warning', 'critical'))
);

-- What a destination is to be told, in order. Sent with others or alone, or given up.
CREATE TABLE alarm_notices (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  destination_id text NOT NULL REFERENCES alarm_destinations (id) ON DELETE CASCADE,
  -- Null: a test.
  alarm_id       text REFERENCES alarms (id) ON DELETE CASCADE,
  event          text NOT NULL,
  created_at     timestamptz(3) NOT NULL DEFAULT now(),
  sent_at        timestamptz(3),
  given_up_at    timestamptz(3),
  CONSTRAINT alarm_notices_event_known CHECK (event IN ('opened', 'acknowledged', 'resolved', 'test')),
  CONSTRAINT alarm_notices_test_alone CHECK ((event = 'test') = (alarm_id IS NULL))
);
CREATE INDEX alarm_notices_waiting_idx ON alarm_notices (destination_id, id) WHERE sent_at IS NULL AND given_up_at IS NULL;
CREATE INDEX alarm_notices_sent_idx ON alarm_notices (destination_id, sent_at);
CREATE INDEX alarm_notices_alarm_id_idx ON alarm_notices (alarm_id);

-- How attempts at providers ended, by the hour, for the status page of providers; and settings that operators change.

CREATE TABLE provider_hours (
  provider_id text NOT NULL,
  hour        timestamptz(3) NOT NULL,
  succeeded   integer NOT NULL,
  failed      integer NOT NULL,
  PRIMARY KEY (provider_id, hour),
  CONSTRAINT provider_hours_counts CHECK (succeeded >= 0 AND failed >= 0)
);
CREATE INDEX provider_hours_hour_idx ON provider_hours (hour);

CREATE TABLE gateway_settings (
  name       text PRIMARY KEY,
  value      jsonb NOT NULL,
  changed_at timestamptz(3) NOT NULL DEFAULT now()
);

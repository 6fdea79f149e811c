-- Responses that clients may read again and continue, encrypted, for a time. Bytes and number per account are counted by a trigger.
CREATE TABLE stored_responses (
  call_id       text PRIMARY KEY,
  account_id    text NOT NULL,
  previous_id   text,
  sealed        bytea NOT NULL,
  running_until timestamptz(3),
  cancelled     boolean NOT NULL DEFAULT false,
  created_at    timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  expires_at    timestamptz(3) NOT NULL
);
CREATE INDEX stored_responses_account_id_call_id_idx ON stored_responses (account_id, call_id);
CREATE INDEX stored_responses_expires_at_idx ON stored_responses (expires_at);

CREATE TABLE stored_response_totals (
  account_id text PRIMARY KEY,
  responses  bigint NOT NULL,
  bytes      bigint NOT NULL
);

CREATE FUNCTION count_stored_responses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO stored_response_totals
    SELECT account_id, count(*), sum(octet_length(sealed)) FROM changed GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE
      SET responses = stored_response_totals.responses + EXCLUDED.responses, bytes = stored_response_totals.bytes + EXCLUDED.bytes;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE stored_response_totals AS total SET bytes = total.bytes + grown.bytes
    FROM (
      SELECT changed.account_id, sum(octet_length(changed.sealed) - octet_length(former.sealed)) AS bytes
      FROM changed JOIN former USING (call_id) GROUP BY changed.account_id
    ) AS grown
    WHERE total.account_id = grown.account_id AND grown.bytes <> 0;
  ELSE
    UPDATE stored_response_totals AS total SET responses = total.responses - deleted.responses, bytes = total.bytes - deleted.bytes
    FROM (SELECT account_id, count(*) AS responses, sum(octet_length(sealed)) AS bytes FROM changed GROUP BY account_id) AS deleted
    WHERE total.account_id = deleted.account_id;
    DELETE FROM stored_response_totals WHERE responses <= 0 AND account_id IN (SELECT account_id FROM changed);
  END IF;
  RETURN NULL;
END;
$$;
CREATE TRIGGER stored_responses_inserted AFTER INSERT ON stored_responses
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_responses();
CREATE TRIGGER stored_responses_updated AFTER UPDATE ON stored_responses
  REFERENCING NEW TABLE AS changed OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION count_stored_responses();
CREATE TRIGGER stored_responses_deleted AFTER DELETE ON stored_responses
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_responses();

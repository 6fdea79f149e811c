-- Bytes of the prompt logs of each account, so that a log that would exceed a bound is not stored. Kept by a trigger: logs are
-- deleted by their age, with their key and with their account.
CREATE TABLE prompt_log_bytes (
    account_id text NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT prompt_log_bytes_pkey PRIMARY KEY (account_id)
);

INSERT INTO prompt_log_bytes
SELECT account_id, sum(octet_length(sealed)) FROM prompt_logs GROUP BY account_id;

CREATE FUNCTION prompt_logs_count_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO prompt_log_bytes
    SELECT account_id, sum(octet_length(sealed)) FROM changed GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET bytes = prompt_log_bytes.bytes + EXCLUDED.bytes;
  ELSE
    UPDATE prompt_log_bytes SET bytes = prompt_log_bytes.bytes - deleted.bytes
    FROM (SELECT account_id, sum(octet_length(sealed)) AS bytes FROM changed GROUP BY account_id) AS deleted
    WHERE prompt_log_bytes.account_id = deleted.account_id;
    DELETE FROM prompt_log_bytes WHERE bytes <= 0 AND account_id IN (SELECT account_id FROM changed);
  END IF;
  RETURN NULL;
END;
$$;
CREATE TRIGGER prompt_logs_inserted AFTER INSERT ON prompt_logs
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION prompt_logs_count_bytes();
CREATE TRIGGER prompt_logs_deleted AFTER DELETE ON prompt_logs
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION prompt_logs_count_bytes();

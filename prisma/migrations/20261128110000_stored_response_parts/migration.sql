-- A response and the items of its input are read apart, and belong to the key of their call. Rows without `sealed_input` have both in `sealed`.
ALTER TABLE stored_responses
  ADD COLUMN key_id text,
  ADD COLUMN sealed_input bytea,
  ALTER COLUMN sealed SET STORAGE EXTERNAL,
  ALTER COLUMN sealed_input SET STORAGE EXTERNAL;

CREATE OR REPLACE FUNCTION count_stored_responses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO stored_response_totals
    SELECT account_id, count(*), sum(octet_length(sealed) + coalesce(octet_length(sealed_input), 0))
    FROM changed GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE
      SET responses = stored_response_totals.responses + EXCLUDED.responses, bytes = stored_response_totals.bytes + EXCLUDED.bytes;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE stored_response_totals AS total SET bytes = total.bytes + grown.bytes
    FROM (
      SELECT changed.account_id, sum(
        octet_length(changed.sealed) + coalesce(octet_length(changed.sealed_input), 0)
        - octet_length(former.sealed) - coalesce(octet_length(former.sealed_input), 0)) AS bytes
      FROM changed JOIN former USING (call_id) GROUP BY changed.account_id
    ) AS grown
    WHERE total.account_id = grown.account_id AND grown.bytes <> 0;
  ELSE
    UPDATE stored_response_totals AS total SET responses = total.responses - deleted.responses, bytes = total.bytes - deleted.bytes
    FROM (
      SELECT account_id, count(*) AS responses, sum(octet_length(sealed) + coalesce(octet_length(sealed_input), 0)) AS bytes
      FROM changed GROUP BY account_id
    ) AS deleted
    WHERE total.account_id = deleted.account_id;
    DELETE FROM stored_response_totals WHERE responses <= 0 AND account_id IN (SELECT account_id FROM changed);
  END IF;
  RETURN NULL;
END;
$$;

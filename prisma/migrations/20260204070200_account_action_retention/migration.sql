-- What people did to an account is kept for 400 days, and may be deleted then.
CREATE OR REPLACE FUNCTION account_actions_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.created_at < now() - interval '400 days' THEN
      RETURN OLD;
    END IF;
    IF EXISTS (SELECT FROM accounts WHERE id = OLD.account_id AND deleted_at IS NOT NULL) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION '% of % refused: the record of what people did is append-only', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END;
$$;
CREATE INDEX account_actions_created_at_idx ON account_actions (created_at);

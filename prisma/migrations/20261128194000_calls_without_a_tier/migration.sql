-- The tier of a call of `auto` is no longer recorded. The column stays while processes of the version before write it.
ALTER TABLE call_records DROP CONSTRAINT call_records_auto_whole;
ALTER TABLE call_records ADD CONSTRAINT call_records_auto_whole
  CHECK ((auto_score IS NULL) = (auto_profile IS NULL)) NOT VALID;

-- The calls of one conversation, in their order. Before this version no call has the label, so the index is built empty.
CREATE INDEX call_records_session_idx ON call_records (account_id, (labels->>'session'), admitted_at_ms)
  WHERE (labels->>'session') IS NOT NULL;

-- Feedback on calls of `auto` is a fact in reports and changes no routing: comparisons by shadow calls and learned versions are gone.
DROP TABLE router_versions;
DELETE FROM router_outcomes WHERE source <> 'feedback';
ALTER TABLE router_outcomes RENAME TO call_feedback;
ALTER INDEX router_outcomes_account_id_idx RENAME TO call_feedback_account_id_idx;
ALTER INDEX router_outcomes_created_at_idx RENAME TO call_feedback_created_at_idx;
ALTER TABLE call_feedback DROP CONSTRAINT router_outcomes_pkey;
ALTER TABLE call_feedback DROP COLUMN source, DROP COLUMN score, DROP COLUMN cost_pico, DROP COLUMN vector,
  DROP COLUMN other_model_id, DROP COLUMN other_outcome, DROP COLUMN other_cost_pico;
ALTER TABLE call_feedback ADD CONSTRAINT call_feedback_pkey PRIMARY KEY (call_id);

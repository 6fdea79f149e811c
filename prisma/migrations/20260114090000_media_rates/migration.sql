-- Audio and image tokens of a prompt, and their rates where a model has them. A constant default and nullable
-- columns change no row.
ALTER TABLE call_records
  ADD COLUMN audio_tokens INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN image_tokens INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN prompt_audio_rate_pico BIGINT,
  ADD COLUMN prompt_image_rate_pico BIGINT,
  ADD COLUMN prompt_audio_cost_pico BIGINT,
  ADD COLUMN prompt_image_cost_pico BIGINT;

ALTER TABLE rate_versions
  ADD COLUMN prompt_audio BIGINT,
  ADD COLUMN prompt_image BIGINT,
  ADD COLUMN list_prompt_audio BIGINT,
  ADD COLUMN list_prompt_image BIGINT;

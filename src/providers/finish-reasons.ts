import type { FinishReason, UnknownFinish } from '../core/calls/completion.ts'
import type { FinishMeaning } from '../core/catalog/catalog.ts'

const WORDS_OF: Readonly<Record<FinishMeaning | 'none', string>> = {
  stop: 'stop stopped eos eos_token eos_found end_id end_turn end_of_turn stop_sequence stop_sequence_reached stop_words stop_word stop_str stop_token end complete completed finished finish done normal word',
  tool_calls: 'tool_calls tool_call tool_use',
  function_call: 'function_call',
  length:
    'length max_tokens max_length max_output_tokens max_new_tokens max_completion_tokens max_tokens_reached token_limit token_limit_reached limit incomplete model_length context_length context_length_exceeded context_window model_context_window_exceeded error_limit pause_turn repetition repetition_truncation',
  content_filter:
    'content_filter content_filtered sensitive safety moderation refusal recitation language blocklist prohibited_content spii image_safety image_prohibited_content image_recitation model_armor error_toxic guardrail_intervened blocked policy_violation',
  error:
    'error error_finish failed failure network_error abort aborted cancel cancelled canceled user_cancel interrupted timeout time_limit insufficient_system_resource server_error internal_error load unload function_call_error function_call_failure malformed_function_call unexpected_tool_call too_many_tool_calls missing_thought_signature malformed_response malformed_model_output malformed_tool_use no_image image_other other',
  // Some write such a word in every chunk but the last.
  none: 'null none unknown unspecified not_finished',
}

/**
 * The finish reasons of every wire: those that the known providers and vLLM, SGLang, llama.cpp, TGI, Ollama, TensorRT-LLM
 * and LMDeploy document. Providers pass on the words of other wires, so that there is one table. A pause and a repetition
 * that was cut off are incomplete.
 */
const MEANINGS: ReadonlyMap<string, FinishMeaning | 'none'> = new Map(
  Object.entries(WORDS_OF).flatMap(([meaning, words]) =>
    words.split(' ').map((word) => [word, meaning as FinishMeaning | 'none'] as const),
  ),
)

const WORD_CHARS_MAX = 60

/**
 * Reads a finish reason in any spelling (`MAX_TOKENS`, `tool-calls`, `FINISH_REASON_STOP`). Null if it is none: absent,
 * empty, or a word that says so.
 * @param own the provider's own words, which come first
 */
export function readFinishReason(
  value: unknown,
  own?: Readonly<Record<string, FinishMeaning>>,
): FinishReason | 'error' | UnknownFinish | null {
  if (typeof value !== 'string' || value === '') return null
  if (own && Object.hasOwn(own, value)) return own[value]!
  const word = value
    .trim()
    .toLowerCase()
    .replace(/[- ]/g, '_')
    .replace(/^finish_reason_/, '')
  if (word === '') return null
  const meaning = MEANINGS.get(word) ?? {
    unknown: value.replace(/[^\w.: -]/g, '').slice(0, WORD_CHARS_MAX) || '?',
  }
  return meaning === 'none' ? null : meaning
}

/** The error of a completion that its provider gave up, as an error object of its wire. */
export const brokenFinish = (reason: unknown): { error: unknown } => ({
  error: { code: `finish_reason_${String(reason).slice(0, WORD_CHARS_MAX)}` },
})

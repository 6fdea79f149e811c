import type { Usage } from '../core/calls/usage.ts'
import { count, type Fields, isObject } from './wire.ts'

type PromptParts = Omit<Usage, 'promptTokens' | 'completionTokens'>

/** The parts of a prompt that a provider reports, without those that are not numbers above zero. */
export const promptParts = (said: { [Part in keyof PromptParts]: unknown }): PromptParts =>
  Object.fromEntries(Object.entries(said).filter(([, tokens]) => typeof tokens === 'number' && tokens > 0))

/**
 * The parts of a prompt in a usage of the chat-completions wire. Some providers have their own fields for their prompt
 * cache. Not read: `num_cached_tokens` of Mistral, which counts what its engine reused; what it bills as cached is in
 * `prompt_tokens_details`.
 */
export function chatPromptParts(usage: Fields): PromptParts {
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const cachedTokens = largest(details.cached_tokens, usage.prompt_cache_hit_tokens, usage.cached_tokens)
  const written = largest(details.cache_write_tokens, details.cache_creation_input_tokens)
  return promptParts({
    audioTokens: details.audio_tokens,
    imageTokens: details.image_tokens,
    cachedTokens,
    // Some count what they read among what they wrote.
    cacheWriteTokens: Math.min(written, Math.max(0, count(usage.prompt_tokens) - cachedTokens)),
  })
}

/** The largest of the fields for one count; those that do not count it are absent or zero. */
const largest = (...counts: unknown[]): number => Math.max(...counts.map(count))

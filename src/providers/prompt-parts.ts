import type { Usage } from '../core/calls/usage.ts'
import { type Fields, isObject } from './wire.ts'

type PromptParts = Omit<Usage, 'promptTokens' | 'completionTokens'>

/** What a provider says of the parts of a prompt; what is no number above zero is left out. */
export const promptParts = (said: { [Part in keyof PromptParts]: unknown }): PromptParts =>
  Object.fromEntries(Object.entries(said).filter(([, tokens]) => typeof tokens === 'number' && tokens > 0))

/** The same of a usage on the chat-completions wire. Some providers have fields of their own for their prompt cache. */
export function chatPromptParts(usage: Fields): PromptParts {
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  return promptParts({
    audioTokens: details.audio_tokens,
    imageTokens: details.image_tokens,
    cachedTokens: details.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens,
    cacheWriteTokens: details.cache_write_tokens ?? details.cache_creation_input_tokens,
  })
}

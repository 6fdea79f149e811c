/** The usage of a call: of its prompt, its completion, and units besides tokens. */
export interface Usage {
  promptTokens: number
  completionTokens: number
  /** The prompt tokens of audio and of images; absent: unknown. */
  audioTokens?: number
  imageTokens?: number
  /** Of the other prompt tokens, those read from and written to the provider's prompt cache; absent: unknown. */
  cachedTokens?: number
  cacheWriteTokens?: number
  /** Those of the written ones that are kept for an hour instead of minutes; absent: none. */
  cacheWriteHourTokens?: number
  /** Searches of the web that the provider ran. */
  webSearches?: number
  /** 1 if the provider ran programs for the call. */
  codeExecutions?: number
  /** Units besides tokens, in the unit of the model that served; absent: none. */
  units?: number
}

/** Upper bounds of a prompt: of all its tokens, of those of audio and of images, and of its units. */
export type PromptBound = Required<Pick<Usage, 'promptTokens' | 'audioTokens' | 'imageTokens'>> &
  Pick<Usage, 'units' | 'webSearches' | 'codeExecutions'>

/** An integer of pico-USD as text, since JSON has no 64-bit integers. */
export type PicoText = string

/** Rates in pico-USD per token, as text. */
export interface RateTexts {
  prompt: PicoText
  completion: PicoText
  /** See TokenRates. */
  promptAudio?: PicoText
  promptImage?: PicoText
  cacheRead?: PicoText
  cacheWrite?: PicoText
  cacheWriteHour?: PicoText
  /** In pico-USD per unit. */
  units?: PicoText
  /** In pico-USD per use. */
  webSearch?: PicoText
  codeExecution?: PicoText
}

/**
 * The fault of a prompt's reported tokens. `absurd`: they are impossible, and the provider is at fault. `beyond-bound`:
 * they are possible, and our bound was too low. `beyond-hold`: the same, and the whole hold does not cover them either.
 */
export type PromptFault = 'absurd' | 'beyond-bound' | 'beyond-hold' | null

/** What a provider reported that is impossible. */
export interface UsageFaults {
  prompt: PromptFault
  completion: boolean
}

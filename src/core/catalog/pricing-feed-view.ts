/** One model's live rates; decimal strings in USD per million tokens. */
export interface PricingFeedEntry {
  id: string
  name: string
  vendor: string
  prompt: string
  completion: string
  /** Rates of audio and images in the prompt; absent: as `prompt`. */
  prompt_audio?: string
  prompt_image?: string
  /** Rates of cached prompt tokens, for calls that are charged by them; absent: as `prompt`. */
  cache_read?: string
  cache_write?: string
  /** Of tokens kept in the prompt cache for an hour; absent: they are kept for minutes. */
  cache_write_hour?: string
  /** USD per million uses of tools that the provider runs; absent: it runs none. */
  web_search?: string
  code_execution?: string
  /** USD per million units for models that are not priced by tokens, see `unit`. */
  units?: string
  list_prompt: string
  list_completion: string
  list_prompt_audio?: string
  list_prompt_image?: string
  list_cache_read?: string
  list_cache_write?: string
  list_cache_write_hour?: string
  list_web_search?: string
  list_code_execution?: string
  list_units?: string
  /** The smallest of the discounts, as a decimal fraction: `"0.05"` is 5 %. */
  discount: string
  /** The kind; absent: chat. */
  kind?: string
  /** The unit of `units`. */
  unit?: string
  /** Minimum units charged for a call; absent: none. */
  least_units?: number
  /** For image models: units of one image by `<quality>/<size>`; the first is the default. */
  image_units?: Readonly<Record<string, number>>
  /** Maximum length of its vectors. */
  dimensions?: number
  context_length: number
  max_output_tokens: number
  input_modalities: readonly string[]
  open_weights: boolean
  /** Whether a usable offer's provider stores no data, so that `zdr` can be satisfied. */
  zdr: boolean
  /** `unavailable`: known, but none of its providers is configured at this gateway. */
  status: 'available' | 'unavailable'
  /** ISO 8601: when its rate last changed. */
  updated_at: string
}

export interface PricingFeed {
  /** Hash of everything else in the feed: equal versions mean identical bytes. */
  version: string
  /** ISO 8601: when the newest of the rates changed. */
  generated_at: string
  currency: 'USD'
  unit: 'per_million_tokens'
  data: PricingFeedEntry[]
}

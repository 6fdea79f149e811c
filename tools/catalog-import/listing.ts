import type { ImportedProvider } from './provider-table.ts'

/** The data packages, the newest first. */
export const DATA_SOURCES = ['pi-ai', 'litellm', 'genai-prices'] as const
export type DataSource = (typeof DATA_SOURCES)[number]

/** USD per million tokens. */
export interface ListedPrice {
  prompt: number
  completion: number
  /** Of audio and images in the prompt; absent: unknown, or the same as the rest of it. */
  promptAudio?: number
  promptImage?: number
  /** Of prompt tokens read from and written to its prompt cache; absent: unknown, or the same as the rest of it. */
  cacheRead?: number
  cacheWrite?: number
  /** What prompts longer than this many tokens cost, where that is more. */
  long: { aboveTokens: number; prompt: number; completion: number } | null
}

/** Kinds of prices of parts of a prompt. */
export const PART_KINDS = ['promptAudio', 'promptImage', 'cacheRead', 'cacheWrite'] as const

/** The prices of parts that a source gives; none where it gives no number above zero. */
export const partPrices = (
  prices: {
    [Kind in (typeof PART_KINDS)[number]]?: number | undefined
  },
): Pick<ListedPrice, (typeof PART_KINDS)[number]> =>
  Object.fromEntries(Object.entries(prices).filter(([, price]) => price !== undefined && price > 0))

/** One data package's entry of one model at one provider. Null: unknown. */
export interface Listing {
  source: DataSource
  provider: ImportedProvider
  /** The model's name on the provider's wire. */
  upstreamModel: string
  name: string | null
  price: ListedPrice
  contextLength: number | null
  maxOutputTokens: number | null
  /** Always with `text`. */
  inputModalities: string[] | null
  reasoning: boolean | null
  tools: boolean | null
  responseFormat: boolean | null
  /** Whether the provider takes it on the chat-completions path. */
  onChatPath: boolean
  /** `YYYY-MM-DD`: from when the provider no longer serves it; absent: unknown. */
  deprecatedAt?: string
}

/** Not chat models, or prices that are not those of a plain call. */
const LEFT_OUT = new RegExp(
  [
    'embed|tts|whisper|audio|voice|realtime|transcri|image|moderation|guard|ocr|rerank|deep-research|computer-use',
    'robotics|daybreak|banana|lyria|voxtral-mini|-live-|translat|search-(api|preview)|relace|morph-v|palm-2|ui-tars|-sonic',
    '(^|/)~|:(?!\\d)|-batch$|-auto$|(^|/)(auto|free)$|experimental|-beta(-|$)|-gv2|(^|/)ft:',
    '-customtools|-contributor$|-cli-|mistral-code-|router|-exp-\\d|gemini-gemma|@|pplx-|-online$|content-safety',
  ].join('|'),
)

/** Whether a provider's model name is one of a chat model, at the price of a plain call. */
export const isChatModelName = (upstreamModel: string): boolean => !LEFT_OUT.test(upstreamModel.toLowerCase())

import type { DocumentModel } from '../../src/core/catalog/catalog-document.ts'
import { amount, type LitellmRow, type LitellmTable, perMillion, upstreamName } from './litellm-table.ts'

/**
 * Models for images, speech and transcriptions, from litellm's table. docs/catalog.md says which are left out and why.
 */
export const mediaModels = (table: LitellmTable): DocumentModel[] => [
  ...GPT_IMAGE.map((model) => gptImage(model, table)),
  ...PIXEL_PRICED.map((model) => pixelPriced(model, table)),
  ...SPEECH.map(([id, name]) => speech(id, name, table)),
  ...TRANSCRIPTION.map((model) => transcription(model, table)),
]

interface GptImage {
  id: string
  name: string
  /** Of its line's dated version. */
  releasedAt: string
  /** Its qualities, the default first, by those of the generation whose tokens are listed. */
  qualities: Record<string, string>
  /** Prices of its images at a host that passes tokens on, with the most by which they are rounded. */
  listed: (quality: string, size: string) => string
  roundedBy: number
}

const SAME = { medium: 'medium', low: 'low', high: 'high', xhigh: 'xhigh', max: 'max' }
/** The generation before had fewer, at other effort: what was high is now the most. */
const EARLIER = { medium: 'high', low: 'low', high: 'max' }

const gptImage2 = (id: string, name: string): GptImage => ({
  id,
  name,
  releasedAt: '2026-04-21',
  qualities: EARLIER,
  listed: (quality, size) => `fal_ai/${quality}/${size}/openai/gpt-image-2`,
  roundedBy: 0.001,
})

const gptImage25 = (line: string, id: string, name: string): GptImage => ({
  id,
  name,
  releasedAt: '2026-09-08',
  qualities: SAME,
  listed: (quality, size) => `fal_ai/${quality}/${size}/openai/gpt-image-2.5/${line}/text-to-image`,
  roundedBy: 0.000_001,
})

const GPT_IMAGE: readonly GptImage[] = [
  gptImage25('sunburst', 'gpt-image-2.5-sunburst', 'GPT Image 2.5 Sunburst'),
  gptImage25('sunburst', 'gpt-image-2.5-sunburst-2026-09-08', 'GPT Image 2.5 Sunburst (2026-09-08)'),
  gptImage25('flare', 'gpt-image-2.5-flare', 'GPT Image 2.5 Flare'),
  gptImage25('flare', 'gpt-image-2.5-flare-2026-09-08', 'GPT Image 2.5 Flare (2026-09-08)'),
  gptImage2('gpt-image-2', 'GPT Image 2'),
  gptImage2('gpt-image-2-2026-04-21', 'GPT Image 2 (2026-04-21)'),
]

/** Sizes by the name under which litellm lists the tokens: an image takes as many upright as lying. */
const GPT_IMAGE_SIZES: ReadonlyArray<readonly [size: string, listedAs: string]> = [
  ['1024x1024', '1024-x-1024'],
  ['1536x1024', '1024-x-1536'],
  ['1024x1536', '1024-x-1536'],
  ['1024x768', '1024-x-768'],
  ['768x1024', '1024-x-768'],
  ['2560x1440', '2560-x-1440'],
  ['1440x2560', '2560-x-1440'],
]

/** Above what the price of an edit at that host implies (1,536) and what the maker published of the first of the line. */
const GPT_IMAGE_INPUT_TOKENS = 8_192
/** No window is published: a prompt of 32,000 characters beside 16 images and a mask. */
const GPT_IMAGE_WINDOW = 4 * 32_000 + 17 * GPT_IMAGE_INPUT_TOKENS

function gptImage(
  { id, name, releasedAt, qualities, listed, roundedBy }: GptImage,
  table: LitellmTable,
): DocumentModel {
  const row = table.row(id)
  const tokenPrice = amount(row.output_cost_per_image_token)
  const units: Record<string, number> = {}
  for (const [quality, tokensOf] of Object.entries(qualities)) {
    for (const [size, listedAs] of GPT_IMAGE_SIZES) {
      const tokens = outputTokens(tokensOf, listedAs, table)
      const difference = Math.abs(
        amount(table.row(listed(quality, listedAs)).output_cost_per_image) - tokens * tokenPrice,
      )
      if (difference > roundedBy) throw new Error(`${id}: ${quality}/${size} is not ${tokens} tokens`)
      units[`${quality}/${size}`] = tokens
    }
  }
  return {
    id,
    name,
    vendor: 'openai',
    kind: 'image',
    unit: 'image_token',
    image_units: units,
    context_length: GPT_IMAGE_WINDOW,
    input_modalities: modalities(row.supported_endpoints),
    supported_parameters: ['background'],
    media: { image_tokens: GPT_IMAGE_INPUT_TOKENS },
    released_at: releasedAt,
    ...switchedOff(row),
    list_price: {
      prompt: perMillion(row.input_cost_per_token),
      completion: '0',
      prompt_image: perMillion(row.input_cost_per_image_token),
      units: perMillion(tokenPrice),
    },
    offers: [{ provider: 'openai', upstream_model: id }],
  }
}

/** The tokens of an image: a whole number, because that host lists the newest generation's images unrounded. */
function outputTokens(quality: string, listedAs: string, table: LitellmTable): number {
  const { output_cost_per_image: price } = table.row(
    `fal_ai/${quality}/${listedAs}/openai/gpt-image-2.5/sunburst/text-to-image`,
  )
  const tokens = amount(price) / amount(table.row('gpt-image-2.5-sunburst').output_cost_per_image_token)
  if (Math.abs(tokens - Math.round(tokens)) > 0.001) throw new Error(`${tokens} is no number of tokens`)
  return Math.round(tokens)
}

const modalities = (endpoints: unknown): string[] =>
  Array.isArray(endpoints) && endpoints.includes('/v1/images/edits') ? ['text', 'image'] : ['text']

interface Offered {
  id: string
  name: string
  vendor: string
  provider: string
  /** litellm's name. */
  key: string
}

const PIXEL_PRICED: readonly Offered[] = [
  {
    id: 'black-forest-labs/flux.1-schnell',
    name: 'FLUX.1 [schnell]',
    vendor: 'black-forest-labs',
    provider: 'nscale',
    key: 'nscale/black-forest-labs/FLUX.1-schnell',
  },
  {
    id: 'stabilityai/stable-diffusion-xl-base-1.0',
    name: 'Stable Diffusion XL 1.0',
    vendor: 'stabilityai',
    provider: 'nscale',
    key: 'nscale/stabilityai/stable-diffusion-xl-base-1.0',
  },
]

const PIXEL_PRICED_SIDE = 1_024
/** As litellm lists for the same models at another host. What is beyond the encoders' windows is ignored by the models. */
const PIXEL_PRICED_WINDOW = 4_096

/** Open weights that are priced by the pixel: one size, at the price of its pixels. */
function pixelPriced({ id, name, vendor, provider, key }: Offered, table: LitellmTable): DocumentModel {
  const row = table.row(key)
  return {
    id,
    name,
    vendor,
    kind: 'image',
    unit: 'image',
    image_units: { [`/${PIXEL_PRICED_SIDE}x${PIXEL_PRICED_SIDE}`]: 1 },
    context_length: PIXEL_PRICED_WINDOW,
    open_weights: true,
    list_price: {
      prompt: '0',
      completion: '0',
      units: perMillion(amount(row.input_cost_per_pixel) * PIXEL_PRICED_SIDE ** 2),
    },
    offers: [{ provider, upstream_model: upstreamName(key, row) }],
  }
}

const SPEECH: ReadonlyArray<readonly [id: string, name: string]> = [
  ['tts-1', 'TTS-1'],
  ['tts-1-hd', 'TTS-1 HD'],
]
/** Characters of a text at most, says the maker. */
const SPEECH_WINDOW = 4_096

function speech(id: string, name: string, table: LitellmTable): DocumentModel {
  const row = table.row(id)
  return {
    id,
    name,
    vendor: 'openai',
    kind: 'speech',
    unit: 'character',
    context_length: SPEECH_WINDOW,
    ...switchedOff(row),
    list_price: unitPrice(row.input_cost_per_character),
    offers: [{ provider: 'openai', upstream_model: id }],
  }
}

interface Transcription extends Offered {
  /** Its provider has `/audio/translations` for it. */
  translates: boolean
  /** Seconds that its provider bills at least. */
  least?: number
}

/** Models that report the length of a recording and word timestamps, by the documentation of the maker and the host. */
const TRANSCRIPTION: readonly Transcription[] = [
  {
    id: 'whisper-1',
    name: 'Whisper',
    vendor: 'openai',
    provider: 'openai',
    key: 'whisper-1',
    translates: true,
  },
  {
    id: 'whisper-large-v3',
    name: 'Whisper Large v3',
    vendor: 'openai',
    provider: 'groq',
    key: 'groq/whisper-large-v3',
    translates: true,
    least: 10,
  },
  {
    id: 'whisper-large-v3-turbo',
    name: 'Whisper Large v3 Turbo',
    vendor: 'openai',
    provider: 'groq',
    key: 'groq/whisper-large-v3-turbo',
    translates: false,
    least: 10,
  },
]
/** Tokens of the decoder, says the model card. */
const WHISPER_WINDOW = 448

function transcription(
  { id, name, vendor, provider, key, translates, least }: Transcription,
  table: LitellmTable,
): DocumentModel {
  const row = table.row(key)
  return {
    id,
    name,
    vendor,
    kind: 'transcription',
    unit: 'second',
    ...(least !== undefined && { least_units: least }),
    context_length: WHISPER_WINDOW,
    input_modalities: ['text', 'audio'],
    supported_parameters: ['timestamp_granularities', ...(translates ? ['translations'] : [])],
    ...(id.startsWith('whisper-large') && { open_weights: true }),
    ...switchedOff(row),
    list_price: unitPrice(row.input_cost_per_second),
    offers: [{ provider, upstream_model: upstreamName(key, row) }],
  }
}

const unitPrice = (price: unknown): DocumentModel['list_price'] => ({
  prompt: '0',
  completion: '0',
  units: perMillion(price),
})

/** The day on which its maker ends it, if there is one. */
const switchedOff = ({ deprecation_date: day }: LitellmRow): Pick<DocumentModel, 'deprecated_at'> =>
  typeof day === 'string' ? { deprecated_at: day } : {}

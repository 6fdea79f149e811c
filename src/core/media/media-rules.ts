/**
 * Token count of an image for a model. Sizes are pixels.
 * - `tile`: shrunk to 2,048 by 2,048 and a short side of 768; then a base plus an amount per tile of 512. Low detail: the base.
 * - `patch`: an amount per square of `side`, in hundredths of a token, for `least` to `most` squares.
 * - `crop`: an amount per crop, whose side is two thirds of the short side, from 256 to 768; at most 24 crops.
 * - `image`: the same for every image.
 */
export type ImageRule =
  | { by: 'tile'; base: number; tile: number }
  | { by: 'patch'; side: number; hundredths: number; least: number; most: number }
  | { by: 'crop'; crop: number }
  | { by: 'image'; tokens: number }

/** Upper bounds of a model's media tokens. */
export interface MediaRules {
  image: ImageRule
  audioTokensPerSecond: number
  /** Per document of any length; absent: the context window. */
  documentTokens?: number
  /** Per page, for estimates. */
  pageTokens: number
  /** Per video of any length; absent: the context window. */
  videoTokens?: number
  /** Per second of video with its sound, for estimates. */
  videoTokensPerSecond: number
  /** Media that may be sent by URL, because a catalog document states their maximum cost. */
  byAddress: readonly ('file' | 'video')[]
}

/** The operator's values for a model from a catalog document; each is a maximum. */
export interface DocumentMedia {
  image_tokens?: number
  audio_tokens_per_second?: number
  document_tokens?: number
  video_tokens?: number
}

type Line = Pick<MediaRules, 'image'> & Partial<MediaRules>

const patches = (side: number, hundredths: number, most: number, least = 1): ImageRule => ({
  by: 'patch',
  side,
  hundredths,
  least,
  most,
})
const tiles = (base: number, tile: number): ImageRule => ({ by: 'tile', base, tile })

/**
 * Values by maker and model line; the first line whose pattern matches the model's name applies. The sources and
 * their dates are in docs/catalog.md. For newer models without published values, the line's highest value is used.
 */
const LINES: Readonly<Record<string, ReadonlyArray<readonly [RegExp, Line]>>> = {
  openai: [
    [/^gpt-4o-mini/, { image: tiles(2_833, 5_667) }],
    [/^gpt-4\.1-mini/, { image: patches(32, 162, 1_536) }],
    [/^gpt-4\.1-nano/, { image: patches(32, 246, 1_536) }],
    [/^o4-mini/, { image: patches(32, 172, 1_536) }],
    [/^(chatgpt-4o|gpt-4o|gpt-4-turbo|gpt-4-vision|gpt-4\.5|gpt-4\.1)/, { image: tiles(85, 170) }],
    [/^o[13](-|$)/, { image: tiles(75, 150) }],
    [/^gpt-5-mini/, { image: patches(32, 162, 1_536) }],
    [/^gpt-5-nano/, { image: patches(32, 246, 1_536) }],
    [
      /^gpt-5(\.1)?(-chat-latest|-codex|-codex-max|-fast|-pro|-thinking|-\d[\d-]*)?$/,
      { image: tiles(70, 140) },
    ],
    [/-nano/, { image: patches(32, 246, 10_000) }],
    [/./, { image: patches(32, 172, 10_000) }],
  ],
  anthropic: [
    // 1,568 squares of 28 pixels; "about 1,600 tokens" by the older formula of width × height / 750.
    [
      /^claude-(3|haiku-4\.5|sonnet-4(\.[0-6])?(-|$)|opus-4(\.[0-6])?(-|$))/,
      { image: patches(27, 100, 1_600) },
    ],
    [/./, { image: patches(27, 100, 4_800) }],
  ],
  google: [
    [
      /^gemini-(1|2)/,
      {
        image: { by: 'crop', crop: 258 },
        pageTokens: 258,
        documentTokens: 258_000,
        audioTokensPerSecond: 32,
        videoTokensPerSecond: 300,
      },
    ],
    [
      /^gemini-3/,
      {
        image: { by: 'image', tokens: 1_120 },
        pageTokens: 560,
        documentTokens: 560_000,
        audioTokensPerSecond: 32,
        videoTokensPerSecond: 110,
      },
    ],
    [/./, { image: { by: 'image', tokens: 2_240 }, audioTokensPerSecond: 32 }],
  ],
  // Four tiles of 560 pixels at 1,601 tokens, or sixteen smaller ones and an overview.
  'meta-llama': [[/^llama/, { image: { by: 'image', tokens: 6_500 } }]],
}

/** Default for unpublished values: squares of 14 pixels without merging, up to the maximum of any known encoder. */
const OTHERS: MediaRules = {
  image: patches(14, 100, 16_384, 3_400),
  audioTokensPerSecond: 50,
  pageTokens: 3_000,
  videoTokensPerSecond: 300,
  byAddress: [],
}

/** The values of a model, by its maker's line, overridden by those of its catalog document. */
export function mediaRules(id: string, vendor: string, stated: DocumentMedia = {}): MediaRules {
  const name = id.slice(id.lastIndexOf('/') + 1)
  const lines = Object.hasOwn(LINES, vendor) ? LINES[vendor]! : []
  const line = lines.find(([pattern]) => pattern.test(name))?.[1]
  const { image_tokens: image, audio_tokens_per_second: audio } = stated
  const { document_tokens: document, video_tokens: video } = stated
  return {
    ...OTHERS,
    ...line,
    ...(image !== undefined && { image: { by: 'image', tokens: image } }),
    ...(audio !== undefined && { audioTokensPerSecond: audio }),
    ...(document !== undefined && { documentTokens: document }),
    ...(video !== undefined && { videoTokens: video }),
    byAddress: [
      ...(document === undefined ? [] : (['file'] as const)),
      ...(video === undefined ? [] : (['video'] as const)),
    ],
  }
}

import {
  type AudioPart,
  type DocumentPart,
  type ImageDetail,
  type ImagePart,
  inlineBytes,
  isAddress,
  type MediaPart,
  type VideoPart,
} from '../calls/content-part.ts'
import type { ImageSize } from './image-size.ts'
import type { ImageRule, MediaRules } from './media-rules.ts'

/** Tokens of media in a prompt, by modality; absent modalities have none. */
export type ModalityTokens = Partial<Record<MediaPart['type'], number>>

export interface MediaTokens {
  /** Upper bounds by modality; each may reach the context window, which limits the whole prompt. */
  bound: ModalityTokens
  /** An estimate, by modality. */
  likely: ModalityTokens
}

/** Tokens that providers add around a part. */
const TOKENS_PER_PART = 12
/** Assumed size of an image whose size is unknown. */
const USUAL_SIZE: ImageSize = { width: 1_024, height: 1_024 }
/** 800 kbit/s. */
const USUAL_VIDEO_BYTES_PER_SECOND = 100_000

/**
 * Computes a model's media tokens. Pure.
 * @param window the provider's context window, an upper bound of everything
 */
export function mediaTokens(parts: readonly MediaPart[], rules: MediaRules, window: number): MediaTokens {
  const bound: ModalityTokens = {}
  const likely: ModalityTokens = {}
  for (const part of parts) {
    const tokens = partTokens(part, rules, window)
    bound[part.type] = Math.min(window, (bound[part.type] ?? 0) + tokens.most + TOKENS_PER_PART)
    likely[part.type] = Math.min(window, (likely[part.type] ?? 0) + Math.min(tokens.most, tokens.likely))
  }
  return { bound, likely }
}

export const sumOfTokens = (tokens: ModalityTokens = {}): number =>
  Object.values(tokens).reduce((sum, one) => sum + one, 0)

interface PartTokens {
  most: number
  likely: number
}

function partTokens(part: MediaPart, rules: MediaRules, window: number): PartTokens {
  switch (part.type) {
    case 'image':
      return imagePartTokens(part, rules)
    case 'audio':
      return audioTokens(part, rules)
    case 'video':
      return videoTokens(part, rules, window)
    case 'file':
      return documentTokens(part, rules, window)
    default:
      return part satisfies never
  }
}

function imagePartTokens({ size, detail }: ImagePart, { image }: MediaRules): PartTokens {
  const most = size ? imageTokens(size, detail, image) : mostImageTokens(detail, image)
  return { most, likely: size ? most : imageTokens(USUAL_SIZE, detail, image) }
}

function audioTokens({ length }: AudioPart, { audioTokensPerSecond: rate }: MediaRules): PartTokens {
  return { most: Math.ceil(length.most * rate), likely: Math.ceil(length.likely * rate) }
}

/** A still video has almost no bytes, so only a stated value or the window bounds it. */
function videoTokens(part: VideoPart, rules: MediaRules, window: number): PartTokens {
  const seconds = Math.ceil(inlineBytes(part) / USUAL_VIDEO_BYTES_PER_SECOND)
  const most = rules.videoTokens ?? window
  return { most, likely: isAddress(part.source) ? most : seconds * rules.videoTokensPerSecond }
}

function documentTokens(part: DocumentPart, rules: MediaRules, window: number): PartTokens {
  const most = rules.documentTokens ?? window
  return { most, likely: isAddress(part.source) ? most : part.likelyPages * rules.pageTokens }
}

const TILE = 512
const TILED_MAX = { long: 2_048, short: 768 }
const CROP = { least: 256, most: 768, perShortSide: 1.5 }
const SMALL_SIDE = 384
/**
 * For any aspect ratio: two rows of four tiles; for an image of at most 3,072 by 3,072, twelve columns and
 * two rows of crops.
 */
const TILES_MOST = 8
const CROPS_MOST = 24

/** Tokens of an image whose size is known. */
export function imageTokens(size: ImageSize, detail: ImageDetail | undefined, rule: ImageRule): number {
  switch (rule.by) {
    case 'image':
      return rule.tokens
    case 'tile':
      return detail === 'low' ? rule.base : rule.base + rule.tile * tilesOf(size)
    case 'patch': {
      const squares = across(size.width, rule.side) * across(size.height, rule.side)
      const counted = Math.min(rule.most, Math.max(rule.least, squares))
      return Math.ceil((counted * rule.hundredths) / 100)
    }
    case 'crop':
      return rule.crop * cropsOf(size)
    default:
      return rule satisfies never
  }
}

/** Tokens of the most expensive image. */
function mostImageTokens(detail: ImageDetail | undefined, rule: ImageRule): number {
  switch (rule.by) {
    case 'image':
      return rule.tokens
    case 'tile':
      return detail === 'low' ? rule.base : rule.base + rule.tile * TILES_MOST
    case 'patch':
      return Math.ceil((rule.most * rule.hundredths) / 100)
    case 'crop':
      return rule.crop * CROPS_MOST
    default:
      return rule satisfies never
  }
}

function tilesOf({ width, height }: ImageSize): number {
  const shrink = Math.min(
    1,
    TILED_MAX.long / Math.max(width, height),
    TILED_MAX.short / Math.min(width, height),
  )
  return Math.min(TILES_MOST, across(width * shrink, TILE) * across(height * shrink, TILE))
}

function cropsOf(size: ImageSize): number {
  if (Math.max(size.width, size.height) <= SMALL_SIDE) return 1
  const { width, height } = size
  const side = Math.min(
    CROP.most,
    Math.max(CROP.least, Math.floor(Math.min(width, height) / CROP.perShortSide)),
  )
  return Math.min(CROPS_MOST, across(width, side) * across(height, side))
}

/** Squares that cover a length; a tiny excess is the rounding of a scaled length. */
const across = (length: number, side: number): number => Math.max(1, Math.ceil(length / side - 1e-9))

import type { PromptBound, Usage } from '../billing/pricing.ts'
import { asAudioAndImages } from '../media/media-tokens.ts'
import type { Candidate } from './call-job.ts'

/** The bounds that a candidate's prompt is held at, and that its usage is clamped to. */
export function promptBoundOf({
  promptTokensBound: promptTokens,
  media,
}: Pick<Candidate, 'promptTokensBound' | 'media'>): PromptBound {
  const { audioTokens, imageTokens } = asAudioAndImages(media?.bound)
  return {
    promptTokens,
    audioTokens: Math.min(audioTokens, promptTokens),
    imageTokens: Math.min(imageTokens, promptTokens),
  }
}

/** What of a prompt is likely to be audio and images. */
export const likelyMedia = (media: Candidate['media']): Pick<Usage, 'audioTokens' | 'imageTokens'> => ({
  audioTokens: media?.likely.audio ?? 0,
  imageTokens: media?.likely.image ?? 0,
})

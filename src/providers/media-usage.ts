import type { Usage } from '../core/billing/pricing.ts'

/** What a provider says of a prompt's audio and images; what is no number above zero is left out. */
export function mediaTokens(audio: unknown, image: unknown): Pick<Usage, 'audioTokens' | 'imageTokens'> {
  return {
    ...(typeof audio === 'number' && audio > 0 && { audioTokens: audio }),
    ...(typeof image === 'number' && image > 0 && { imageTokens: image }),
  }
}

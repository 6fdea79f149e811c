import type { PromptBound, Usage } from '../billing/pricing.ts'
import type { ExactJson } from '../json/json-text.ts'
import { asAudioAndImages } from '../media/media-tokens.ts'
import { textTokensBound, UNIT_BOUND_MAX } from '../text-tokens/text-tokens-bound.ts'
import type { Candidate } from './call-job.ts'
import type { ChatMessage, SamplingParameters } from './chat-request.ts'

const TOKENS_PER_MESSAGE = 8
const TOKENS_PER_CALL = 16
/** What providers put before a prompt that comes with tools; the largest that is published is 530. */
const TOKENS_WITH_TOOLS = 700
/** The words that ask for JSON, or that tell a tool's result, where a wire has no field for them. */
const TOKENS_OF_WORDING = 40

/** No call is bounded by fewer prompt tokens: one message that says nothing. */
export const PROMPT_TOKENS_LEAST = TOKENS_PER_CALL + TOKENS_PER_MESSAGE

/** Characters that are looked at. A longer prompt fills the window of all but a few models anyway. */
const READ_CHARS_MAX = 2_000_000

/**
 * An upper bound of the tokens of a prompt's text for every chat model, with what wires and providers put around the
 * messages. What a model makes of media is another matter: media/media-tokens.ts. Reads two million characters; what
 * is beyond counts as the dearest there is, so a prompt of that length is held to the window it is sent to.
 * English prose comes out at about 1.8 times its count, code at about 2.2 times; the unused part of a hold is
 * released at settlement.
 */
export function promptTokensBound(
  messages: readonly ChatMessage[],
  parameters: SamplingParameters,
  exactJson?: ExactJson,
): number {
  let tokens = TOKENS_PER_CALL
  let charsLeft = READ_CHARS_MAX
  const count = (text: string): void => {
    const read = text.slice(0, charsLeft)
    charsLeft -= read.length
    tokens += textTokensBound(read) + (text.length - read.length) * UNIT_BOUND_MAX
  }
  for (const message of messages) {
    tokens += TOKENS_PER_MESSAGE + (message.role === 'tool' ? TOKENS_OF_WORDING : 0)
    if (message.name !== undefined) count(message.name)
    if (message.tool_call_id !== undefined) count(message.tool_call_id)
    if (typeof message.content === 'string') count(message.content)
    else for (const part of message.content) if (part.type === 'text') count(part.text)
  }
  const { tools, response_format: format } = parameters
  if (tools) {
    tokens += TOKENS_WITH_TOOLS
    count(dearest(JSON.stringify(tools), exactJson?.tools))
  }
  if (format) {
    tokens += TOKENS_OF_WORDING
    count(dearest(JSON.stringify(format), exactJson?.response_format))
  }
  return tokens
}

/** Of two texts, of which a wire sends one or the other, the one of the larger bound. */
const dearest = (text: string, other: string | undefined): string =>
  other !== undefined && textTokensBound(other) > textTokensBound(text) ? other : text

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

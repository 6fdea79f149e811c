import type { ChatMessage, SamplingParameters } from '../calls/chat-request.ts'
import type { PromptBound, Usage } from '../calls/usage.ts'
import { type ExactJson, jsonOf, type SentJson } from '../json/json-text.ts'
import type { MediaTokens } from '../media/media-tokens.ts'
import { createTextBound, textTokensBound } from './text-bound.ts'

/**
 * What wires, chat templates and providers add to a prompt, each rounded up from the most that is published or was measured.
 * The same for every wire, since hosts of one wire serve models of every maker; what single models add beyond it is in
 * added-tokens.ts. Measured: 35 by a template that writes a date, 47 for thinking, 75 for both at one maker.
 */
const TOKENS_PER_CALL = 80
const TOKENS_PER_MESSAGE = 8
/** Published: up to 530 with tools that may be chosen. Measured beside the tools themselves: 627, and 8 for each. */
const TOKENS_WITH_TOOLS = 700
const TOKENS_PER_TOOL = 16
/** Measured with a schema as `response_format`: 613, where the host repeats it in instructions. */
const TOKENS_WITH_SCHEMA = 640
/** Tokens of the instructions that replace missing fields of a wire: for JSON, or for a tool's result. */
const TOKENS_OF_WORDING = 40

/** The lowest possible bound of a prompt: one empty message. */
export const PROMPT_TOKENS_LEAST = TOKENS_PER_CALL + TOKENS_PER_MESSAGE

/**
 * An upper bound of a prompt's text tokens for every chat model, including what wires and providers add to the
 * messages. Media are bounded by media/media-tokens.ts. Scans two million characters and assumes the maximum for the
 * rest, so such a long prompt is bounded by the window of its target. English prose is bounded at about 1.8 times its
 * count, code at about 2.2 times; the unused part of a hold is released at settlement.
 */
export function promptTokensBound(
  messages: readonly ChatMessage[],
  parameters: SamplingParameters,
  exactJson?: ExactJson,
  sentJson?: SentJson,
): number {
  let tokens = TOKENS_PER_CALL
  let hasCalls = false
  const boundOf = createTextBound()
  const count = (text: string, form?: 'json'): void => {
    tokens += boundOf(text, form)
  }
  for (const message of messages) {
    tokens += TOKENS_PER_MESSAGE + (message.role === 'tool' ? TOKENS_OF_WORDING : 0)
    if (message.name !== undefined) count(message.name)
    if (message.tool_call_id !== undefined) count(message.tool_call_id)
    // Tool results and calls may be sent to the model inside JSON.
    const form = hasCalls && message.role === 'tool' ? 'json' : undefined
    if (typeof message.content === 'string') count(message.content, form)
    else for (const part of message.content) if (part.type === 'text') count(part.text, form)
    if (message.tool_calls) {
      hasCalls = true
      if (message.reasoning !== undefined) count(message.reasoning)
      if (message.signed) count(JSON.stringify(message.signed))
      for (const { id, function: call } of message.tool_calls) {
        tokens += TOKENS_OF_WORDING
        count(id)
        count(JSON.stringify(call))
      }
    }
  }
  const { tools, response_format: format } = parameters
  if (tools || hasCalls) tokens += TOKENS_WITH_TOOLS
  if (tools) {
    tokens += tools.length * TOKENS_PER_TOOL
    const bytes = sentJson?.get(tools)
    const write = () => dearest(jsonOf(tools), exactJson?.tools)
    tokens += bytes ? boundOf.received(bytes, write) : boundOf(write())
  }
  if (format) {
    tokens += format.type === 'json_schema' ? TOKENS_WITH_SCHEMA : TOKENS_OF_WORDING
    count(dearest(jsonOf(format), exactJson?.response_format))
  }
  return tokens
}

/** Of two alternative texts, the one with the larger bound. */
const dearest = (text: string, other: string | undefined): string =>
  other !== undefined && textTokensBound(other) > textTokensBound(text) ? other : text

/**
 * The bounds of a candidate's prompt, for its hold and for clamping its usage. Providers may report a video as audio
 * and images, and pages of a document as images.
 */
export function promptBoundOf({
  promptTokensBound: promptTokens,
  media,
  units,
  uses,
}: {
  promptTokensBound: number
  media?: MediaTokens | undefined
  units?: { bound: number }
  uses?: Pick<PromptBound, 'webSearches' | 'codeExecutions'> | undefined
}): PromptBound {
  const { audio = 0, image = 0, video = 0, file = 0 } = media?.bound ?? {}
  return {
    promptTokens,
    audioTokens: Math.min(audio + video, promptTokens),
    imageTokens: Math.min(image + video + file, promptTokens),
    ...(units && { units: units.bound }),
    ...uses,
  }
}

/** The likely audio and image tokens of a prompt. */
export const likelyMedia = (media: MediaTokens | undefined): Pick<Usage, 'audioTokens' | 'imageTokens'> => ({
  audioTokens: media?.likely.audio ?? 0,
  imageTokens: media?.likely.image ?? 0,
})

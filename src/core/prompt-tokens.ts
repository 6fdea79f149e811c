import type { ChatMessage, SamplingParameters } from './chat-request.ts'

const TOKENS_PER_MESSAGE = 8
const TOKENS_PER_CALL = 16
/** Dearest fixed-size image encodings of large vendors stay below this. */
const TOKENS_PER_IMAGE = 3_000
/** Characters of base64 that a provider turns into one token of audio, video or document, at the least. */
const BASE64_CHARS_PER_TOKEN = 20
const LETTERS_PER_TOKEN = 3
/** What providers put before a prompt that comes with tools; the largest that is published is 530. */
const TOKENS_WITH_TOOLS = 700
/** The words that ask for JSON, or that tell a tool's result, where a wire has no field for them. */
const TOKENS_OF_WORDING = 40

/** No call is bounded by fewer prompt tokens: one message that says nothing. */
export const PROMPT_TOKENS_LEAST = TOKENS_PER_CALL + TOKENS_PER_MESSAGE

/**
 * An upper bound of a prompt's tokens that holds for the vocabularies of today's chat models without
 * running any of them: letters count in threes within a word, digits and signs one each, every other
 * script by its UTF-8 bytes. One pass, about a nanosecond a character. English prose comes out at about
 * 1.8 times its true count; the unused part of a hold is released at settlement.
 */
export function promptTokensBound(messages: readonly ChatMessage[], parameters: SamplingParameters): number {
  let tokens = TOKENS_PER_CALL
  for (const message of messages) {
    tokens += TOKENS_PER_MESSAGE + (message.role === 'tool' ? TOKENS_OF_WORDING : 0)
    if (message.name !== undefined) tokens += textTokensBound(message.name)
    if (message.tool_call_id !== undefined) tokens += textTokensBound(message.tool_call_id)
    if (typeof message.content === 'string') tokens += textTokensBound(message.content)
    else for (const part of message.content) tokens += partTokensBound(part)
  }
  const { tools, response_format: format } = parameters
  if (tools) tokens += TOKENS_WITH_TOOLS + textTokensBound(JSON.stringify(tools))
  if (format) tokens += TOKENS_OF_WORDING + textTokensBound(JSON.stringify(format))
  return tokens
}

function partTokensBound(part: Record<string, unknown>): number {
  if (part.type === 'text' && typeof part.text === 'string') return textTokensBound(part.text)
  if (part.type === 'image_url') return TOKENS_PER_IMAGE
  return TOKENS_PER_IMAGE + Math.ceil(JSON.stringify(part).length / BASE64_CHARS_PER_TOKEN)
}

/** The bound for one text. */
export function textTokensBound(text: string): number {
  let tokens = 0
  let letters = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const lower = code | 32
    if (lower >= 97 && lower <= 122) {
      // The first letter of every three opens a token.
      if (letters === 0) tokens++
      letters = letters === LETTERS_PER_TOKEN - 1 ? 0 : letters + 1
      continue
    }
    letters = 0
    // A single space joins the word after it.
    if (code === 32) tokens += index > 0 && text.charCodeAt(index - 1) === 32 ? 0.25 : 0
    else if (code < 128) tokens++
    else if (code < 2048) tokens += 1.5
    else tokens += 2
  }
  return Math.ceil(tokens)
}

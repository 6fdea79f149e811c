import type { CallBody } from '../../src/core/call-job.ts'
import type { ChatMessage } from '../../src/core/chat-request.ts'
import { tokenizer } from './tokenizer.ts'

const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_CALL = 3
/** What large vendors take for an image of common size. */
const TOKENS_PER_IMAGE = 1_000

/** Tokens of a text in the o200k_base vocabulary. Used where a provider does not say what it used. */
export const countTextTokens = async (text: string): Promise<number> =>
  text === '' ? 0 : tokenizer.count(text)

/** Tokens of a prompt, by the same vocabulary and the customary overhead a message. */
export async function countPromptTokens({ messages, parameters }: CallBody): Promise<number> {
  let tokens = TOKENS_PER_CALL
  for (const message of messages) {
    tokens +=
      TOKENS_PER_MESSAGE +
      (await countTextTokens(messageText(message))) +
      imagesOf(message) * TOKENS_PER_IMAGE
  }
  const extras = [parameters.tools, parameters.response_format].filter((extra) => extra !== undefined)
  return tokens + (extras.length > 0 ? await countTextTokens(JSON.stringify(extras)) : 0)
}

function messageText({ content, name }: ChatMessage): string {
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => (typeof part.text === 'string' ? part.text : '')).join('\n')
  return name === undefined ? text : `${name}\n${text}`
}

function imagesOf({ content }: ChatMessage): number {
  return typeof content === 'string' ? 0 : content.filter((part) => part.type !== 'text').length
}

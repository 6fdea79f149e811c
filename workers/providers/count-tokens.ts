import type { CallBody } from '../../src/core/call-job.ts'
import type { ChatMessage } from '../../src/core/chat-request.ts'

type CountTokens = (text: string, options: { disallowedSpecial: Set<string> }) => number

/** Long runs without a space cost the tokenizer their square, so texts are counted in pieces of this size. */
const PIECE_CHARS = 2_000
/** Other calls of the process get their turn after this many characters. */
const CHARS_PER_TURN = 64_000
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_CALL = 3
/** What large vendors take for an image of common size. */
const TOKENS_PER_IMAGE = 1_000

/** What looks like a special token in a text is text. */
const NO_SPECIALS = { disallowedSpecial: new Set<string>() }

let loading: Promise<CountTokens> | undefined

/** Loads the vocabulary, which takes a moment of computing, ahead of its first use. */
export function loadTokenizer(): Promise<CountTokens> {
  loading ??= import('gpt-tokenizer/encoding/o200k_base').then((encoding) => encoding.countTokens)
  return loading
}

/** Tokens of a text in the o200k_base vocabulary. Used where a provider does not say what it used. */
export async function countTextTokens(text: string): Promise<number> {
  if (text === '') return 0
  const count = await loadTokenizer()
  let tokens = 0
  let sinceTurn = 0
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start)
    tokens += count(text.slice(start, end), NO_SPECIALS)
    sinceTurn += end - start
    start = end
    if (sinceTurn >= CHARS_PER_TURN && start < text.length) {
      sinceTurn = 0
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return tokens
}

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

/** Cut before a space where there is one in the second half, so that hardly a token is split. */
function pieceEnd(text: string, start: number): number {
  const end = start + PIECE_CHARS
  if (end >= text.length) return text.length
  const space = Math.max(text.lastIndexOf(' ', end), text.lastIndexOf('\n', end))
  return space > start + PIECE_CHARS / 2 ? space : end
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

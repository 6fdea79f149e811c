import type { ChatMessage, SamplingParameters } from '../chat-request.ts'
import { textLength } from '../request-shape.ts'
import { type DifficultyModel, scorePrompt } from './difficulty-model.ts'
import { clipped } from './prompt-parts.ts'

/** Earlier turns are read less closely than the last: so many of them, and so many characters of each. */
const EARLIER_TURNS = 7
const EARLIER_HEAD_CHARS = 1_500
const EARLIER_TAIL_CHARS = 500

/** A turn's weight, with every turn of the user that follows it. */
const KEPT_PER_TURN = 0.93

/**
 * How hard a request is, 0 to 1. The last turn of the user weighs most; what was asked before still counts, less
 * with every turn, so that a hard conversation stays where it is when it goes on with "thanks, and in French?".
 * With one user message and nothing else it is that message's score. No state: the messages say it all. Reads
 * at most about 26,000 characters. Without any turn of the user: 0.5.
 */
export function scoreRequest(
  messages: readonly ChatMessage[],
  parameters: SamplingParameters,
  model: DifficultyModel,
): number {
  let score: number | null = null
  let turns = 0
  for (let index = messages.length - 1; index >= 0 && turns <= EARLIER_TURNS; index--) {
    const message = messages[index]!
    if (message.role !== 'user') continue
    const text = textOf(message)
    const read = turns === 0 ? text : clipped(text, EARLIER_HEAD_CHARS, EARLIER_TAIL_CHARS)
    score = Math.max(score ?? 0, scorePrompt(read, model) * KEPT_PER_TURN ** turns)
    turns++
  }
  if (score === null) return 0.5
  return score + (1 - score) * burden(messages, parameters, turns)
}

const CONTEXT_CHARS = 8_000
const PER_DOUBLING = 0.03
const MOST_FOR_CONTEXT = 0.12
const FOR_TOOLS = 0.05
const FOR_SCHEMA = 0.05
const FOR_IMAGES = 0.05

/** What comes with the question and makes it harder: long context, tools, a schema to keep to, images. */
function burden(messages: readonly ChatMessage[], parameters: SamplingParameters, turns: number): number {
  let characters = 0
  let hasImages = false
  for (const message of messages) {
    characters += textLength(message)
    if (typeof message.content !== 'string') {
      hasImages ||= message.content.some(({ type }) => type !== 'text')
    }
  }
  // A lone question is its own context, and has been scored.
  const context = turns === 1 && messages.length === 1 ? 0 : Math.log2(1 + characters / CONTEXT_CHARS)
  const hasSchema = parameters.response_format?.type === 'json_schema'
  return (
    Math.min(MOST_FOR_CONTEXT, PER_DOUBLING * context) +
    (parameters.tools ? FOR_TOOLS : 0) +
    (hasSchema ? FOR_SCHEMA : 0) +
    (hasImages ? FOR_IMAGES : 0)
  )
}

/** The text of the user's last turn; empty where there is none. */
export function lastQuestion(messages: readonly ChatMessage[]): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last ? textOf(last) : ''
}

/** A message's text. */
function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return content.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n')
}

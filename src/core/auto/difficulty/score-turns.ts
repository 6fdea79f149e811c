import type { ChatMessage, SamplingParameters } from '../../calls/chat-request.ts'
import { textLength } from '../../routing/request-shape.ts'
import { type DifficultyModel, decodeModel, scorePrompt } from './difficulty-model.ts'
import { clipped } from './prompt-parts.ts'

/** Earlier turns are read less closely than the last: so many of them, and so many characters of each. */
const EARLIER_TURNS = 7
const EARLIER_HEAD_CHARS = 1_500
const EARLIER_TAIL_CHARS = 500

/** A turn's weight, with every turn of the user that follows it. */
const KEPT_PER_TURN = 0.93

/**
 * How hard the conversation was after each of the last turns of the user, oldest first. A turn counts in full
 * when it comes and less with every turn after it, so that a hard conversation stays near where it is when it
 * goes on with "thanks, and in French?". No state: the messages say it all. Reads at most about 26,000
 * characters. A lone message of the user scores what its prompt scores. Without any turn of the user: 0.5, once.
 */
export function scoreTurns(
  messages: readonly ChatMessage[],
  parameters: SamplingParameters,
  model: DifficultyModel,
): number[] {
  const turns = lastTurns(messages)
  if (turns.length === 0) return [0.5]
  const penalty = contextPenalty(messages, parameters)
  let kept = 0
  return turns.map((turn, index) => {
    const isLast = index === turns.length - 1
    const read = isLast ? textOf(turn) : clipped(textOf(turn), EARLIER_HEAD_CHARS, EARLIER_TAIL_CHARS)
    kept = Math.max(scorePrompt(read, model), kept * KEPT_PER_TURN)
    return kept + (1 - kept) * penalty
  })
}

function lastTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  const turns: ChatMessage[] = []
  for (let index = messages.length - 1; index >= 0 && turns.length <= EARLIER_TURNS; index--) {
    if (messages[index]!.role === 'user') turns.push(messages[index]!)
  }
  return turns.reverse()
}

const CONTEXT_CHARS = 8_000
const PER_DOUBLING = 0.03
const MAX_FOR_CONTEXT = 0.12
const FOR_TOOLS = 0.05
const FOR_SCHEMA = 0.05
const FOR_IMAGES = 0.05

/** What comes with the question and makes it harder: long context, tools, a schema to keep to, images. */
function contextPenalty(messages: readonly ChatMessage[], parameters: SamplingParameters): number {
  let characters = 0
  let hasImages = false
  for (const message of messages) {
    characters += textLength(message)
    if (typeof message.content !== 'string') {
      hasImages ||= message.content.some(({ type }) => type !== 'text')
    }
  }
  // A lone question is its own context, and has been scored.
  const context = messages.length === 1 ? 0 : Math.log2(1 + characters / CONTEXT_CHARS)
  const hasSchema = parameters.response_format?.type === 'json_schema'
  return (
    Math.min(MAX_FOR_CONTEXT, PER_DOUBLING * context) +
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

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

import weights from './difficulty-weights.json' with { type: 'json' }

/** The weights in this repository, decoded once when the process starts. */
export const SHIPPED_MODEL: DifficultyModel = decodeModel(weights)

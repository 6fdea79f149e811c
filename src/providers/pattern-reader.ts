import { randomUUID } from 'node:crypto'
import type { CompletionEvent } from '../core/calls/completion.ts'
import type { CompletionReader, Emit } from './wire.ts'

/** So many tries find the pattern of a provider's events, if they have one. */
const PATTERNS_MAX = 3

/**
 * Reads one completion of a wire whose events stand for themselves. Most of them differ from the one before in their
 * text alone: as long as the JSON around it stays the same, only the text is parsed, a third of the work.
 */
export class PatternReader implements CompletionReader {
  readonly whole: CompletionReader['whole']
  readonly #read: CompletionReader['event']
  #pattern: TextPattern | null = null
  #patternsTried = 0

  constructor(read: CompletionReader['event'], whole: CompletionReader['whole']) {
    this.#read = read
    this.whole = whole
  }

  event(data: string, emit: Emit): ReturnType<CompletionReader['event']> {
    const text = this.#pattern && textWithin(this.#pattern, data)
    if (text !== null) {
      emit(['text', text])
      return 'content'
    }
    const signal = this.#read(data, emit)
    if (signal === 'content' && this.#patternsTried < PATTERNS_MAX) {
      this.#patternsTried++
      this.#pattern = patternOf(data, this.#read) ?? this.#pattern
    }
    return signal
  }
}

/** The JSON of an event before and after its text, which is all that it says. */
interface TextPattern {
  before: string
  after: string
}

const TEXT_FIELD = '"content"'
/** In the place of a text; occurs in no event. */
const PLACEHOLDER = randomUUID()

/** The pattern of an event; null where one with another text would say something else besides. */
function patternOf(data: string, read: CompletionReader['event']): TextPattern | null {
  const start = data.indexOf('"', data.indexOf(TEXT_FIELD) + TEXT_FIELD.length)
  const end = data.indexOf('"', start + 1) + 1
  const pattern = { before: data.slice(0, start), after: data.slice(end) }
  const events: CompletionEvent[] = []
  read(`${pattern.before}"${PLACEHOLDER}"${pattern.after}`, (event) => events.push(event))
  const [[kind, text] = []] = events
  return events.length === 1 && kind === 'text' && text === PLACEHOLDER ? pattern : null
}

/** The text of an event; null where it is empty or the event is of another pattern. */
function textWithin({ before, after }: TextPattern, data: string): string | null {
  const end = data.length - after.length
  if (data.slice(0, before.length) !== before || data.slice(end) !== after) return null
  try {
    const text: unknown = JSON.parse(data.slice(before.length, end))
    return typeof text === 'string' && text !== '' ? text : null
  } catch {
    // What the event is instead is seen when it is read whole.
    return null
  }
}

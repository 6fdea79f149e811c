import { randomUUID } from 'node:crypto'
import type { CompletionEvent } from '../core/calls/completion.ts'
import type { CompletionReader, Emit } from './wire.ts'

/** The number of attempts to find the pattern of a provider's events. */
const PATTERNS_MAX = 3
const TOOL_CALLS = /"(?:tool_calls|function_call)"\s*:\s*[[{]/

/**
 * Reads one completion of a wire each of whose events with text alone can be read without the others. Most events differ
 * from the previous one only in their text: while the JSON around it stays the same, only the text is parsed, which takes
 * a third of the time.
 */
export class PatternReader implements CompletionReader {
  readonly whole: CompletionReader['whole']
  readonly end: NonNullable<CompletionReader['end']>
  readonly #reader: CompletionReader
  #pattern: TextPattern | null = null
  #patternsTried = 0

  constructor(reader: CompletionReader) {
    this.#reader = reader
    this.whole = (...parameters) => reader.whole(...parameters)
    this.end = (reason, emit) => reader.end?.(reason, emit) ?? reason
  }

  event(data: string, emit: Emit): ReturnType<CompletionReader['event']> {
    const text = this.#pattern && textWithin(this.#pattern, data)
    if (text !== null) {
      emit(['text', text])
      return 'content'
    }
    if (this.#patternsTried >= PATTERNS_MAX) return this.#reader.event(data, emit)
    const events: CompletionEvent[] = []
    const signal = this.#reader.event(data, (event) => {
      events.push(event)
      emit(event)
    })
    // Other content changes what the reader knows of the completion; such an event is read once.
    if (events.length === 1 && events[0]![0] === 'text' && !TOOL_CALLS.test(data)) {
      this.#patternsTried++
      this.#pattern = patternOf(data, this.#reader) ?? this.#pattern
    }
    return signal
  }
}

/** The JSON of an event before and after its text. */
interface TextPattern {
  before: string
  after: string
}

const TEXT_FIELD = '"content"'
/** Replaces the text in a comparison; occurs in no event. */
const PLACEHOLDER = randomUUID()

/** The pattern of an event; null if the text affects other parts of the event. */
function patternOf(data: string, reader: CompletionReader): TextPattern | null {
  const start = data.indexOf('"', data.indexOf(TEXT_FIELD) + TEXT_FIELD.length)
  const end = data.indexOf('"', start + 1) + 1
  const pattern = { before: data.slice(0, start), after: data.slice(end) }
  const events: CompletionEvent[] = []
  reader.event(`${pattern.before}"${PLACEHOLDER}"${pattern.after}`, (event) => events.push(event))
  const [[kind, text] = []] = events
  return events.length === 1 && kind === 'text' && text === PLACEHOLDER ? pattern : null
}

/** The text of an event; null if it is empty or the event has another pattern. */
function textWithin({ before, after }: TextPattern, data: string): string | null {
  const end = data.length - after.length
  if (end < before.length || !data.startsWith(before) || !data.endsWith(after)) return null
  try {
    const text: unknown = JSON.parse(data.slice(before.length, end))
    return typeof text === 'string' && text !== '' ? text : null
  } catch {
    // The caller then parses the whole event.
    return null
  }
}

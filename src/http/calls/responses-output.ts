import type { Delta, ToolCallDelta } from '../../core/calls/completion.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** A typed event without its sequence number. */
export type OutputEvent = readonly [type: string, fields: object]

/**
 * Assembles the output items of one response from deltas, and makes the events for them. Items stay open until the
 * end, because providers may continue an earlier one.
 */
export class ResponseOutput {
  readonly #callId: string
  /** In the order of their first delta. */
  readonly #items = new Map<string, OutputItem>()

  /** @param callId part of the items' ids */
  constructor(callId: string) {
    this.#callId = callId
  }

  add(delta: Delta): OutputEvent[] {
    switch (delta[0]) {
      case 'text':
      case 'refusal':
        return this.#item('msg', (place) => new TextItem(place, MESSAGE)).add(delta[0], delta[1])
      case 'reasoning':
        return this.#item('rs', (place) => new TextItem(place, REASONING)).add(delta[0], delta[1])
      case 'tool-calls':
        return delta[1].flatMap((call) =>
          this.#item(`fc_${call.index}`, (place) => new FunctionCallItem(place, call)).add(call),
        )
      case 'logprobs':
      case 'native':
      case 'result':
        // Requests on this route cannot ask for them.
        return []
      default:
        return delta satisfies never
    }
  }

  /** The events that end all items. @param status of the last item; the items before it are complete */
  close(status: ItemStatus): OutputEvent[] {
    return this.#ended(status, (item, own) => item.close(own)).flat()
  }

  /** The current items. @param status as in `close` */
  items(status: ItemStatus): object[] {
    return this.#ended(status, (item, own) => item.body(own))
  }

  #item<Item extends OutputItem>(name: string, open: (place: Place) => Item): Item {
    const known = this.#items.get(name)
    if (known) return known as Item
    const item = open({ item_id: `${name}_${this.#callId}`, output_index: this.#items.size })
    this.#items.set(name, item)
    return item
  }

  #ended<Value>(status: ItemStatus, read: (item: OutputItem, status: ItemStatus) => Value): Value[] {
    const items = [...this.#items.values()]
    return items.map((item, index) => read(item, index < items.length - 1 ? 'completed' : status))
  }
}

interface Place {
  item_id: string
  output_index: number
}

interface OutputItem {
  body(status: ItemStatus): object
  close(status: ItemStatus): OutputEvent[]
}

const added = ({ output_index }: Place, item: object): OutputEvent => [
  'response.output_item.added',
  { output_index, item },
]
const done = ({ output_index }: Place, item: object): OutputEvent => [
  'response.output_item.done',
  { output_index, item },
]

const MESSAGE = { type: 'message', role: 'assistant' }
const REASONING = { type: 'reasoning', summary: [] }

/** For each kind of text part: its type, the field of its text, its events, and the events' other fields. */
const PARTS = {
  text: { type: 'output_text', field: 'text', event: 'response.output_text', beside: { logprobs: [] } },
  refusal: { type: 'refusal', field: 'refusal', event: 'response.refusal', beside: {} },
  reasoning: { type: 'reasoning_text', field: 'text', event: 'response.reasoning_text', beside: {} },
} as const
type PartKind = keyof typeof PARTS

const partOf = (kind: PartKind, text: string): object => {
  const { type, field, beside } = PARTS[kind]
  return { type, [field]: text, ...(kind === 'text' && { annotations: [] }), ...beside }
}

/** A message or reasoning, which has text parts. */
class TextItem implements OutputItem {
  readonly #place: Place
  readonly #head: object
  readonly #texts = new Map<PartKind, string>()

  constructor(place: Place, head: object) {
    this.#place = place
    this.#head = head
  }

  add(kind: PartKind, text: string): OutputEvent[] {
    const events: OutputEvent[] = []
    if (this.#texts.size === 0) events.push(added(this.#place, this.body('in_progress')))
    const known = this.#texts.get(kind)
    this.#texts.set(kind, (known ?? '') + text)
    const place = this.#placeOf(kind)
    if (known === undefined)
      events.push(['response.content_part.added', { ...place, part: partOf(kind, '') }])
    const { event, beside } = PARTS[kind]
    return [...events, [`${event}.delta`, { ...place, delta: text, ...beside }]]
  }

  body(status: ItemStatus): object {
    const content = Array.from(this.#texts, ([kind, text]) => partOf(kind, text))
    return { id: this.#place.item_id, ...this.#head, status, content }
  }

  close(status: ItemStatus): OutputEvent[] {
    const ends = Array.from(this.#texts).flatMap(([kind, text]): OutputEvent[] => {
      const { event, field, beside } = PARTS[kind]
      const place = this.#placeOf(kind)
      return [
        [`${event}.done`, { ...place, [field]: text, ...beside }],
        ['response.content_part.done', { ...place, part: partOf(kind, text) }],
      ]
    })
    return [...ends, done(this.#place, this.body(status))]
  }

  #placeOf(kind: PartKind): Place & { content_index: number } {
    return { ...this.#place, content_index: [...this.#texts.keys()].indexOf(kind) }
  }
}

class FunctionCallItem implements OutputItem {
  readonly #place: Place
  readonly #callId: string
  #name = ''
  #arguments: string | null = null

  /** An id that the provider omits is replaced with a number, because clients need one. */
  constructor(place: Place, { index, id }: ToolCallDelta) {
    this.#place = place
    this.#callId = id ?? `call_${index}`
  }

  add({ function: call }: ToolCallDelta): OutputEvent[] {
    const events: OutputEvent[] = []
    if (call?.name) this.#name = call.name
    if (this.#arguments === null) events.push(added(this.#place, this.body('in_progress')))
    const text = call?.arguments ?? ''
    this.#arguments = (this.#arguments ?? '') + text
    if (text === '') return events
    return [...events, ['response.function_call_arguments.delta', { ...this.#place, delta: text }]]
  }

  body(status: ItemStatus): object {
    return {
      id: this.#place.item_id,
      type: 'function_call',
      status,
      call_id: this.#callId,
      name: this.#name,
      arguments: this.#arguments ?? '',
    }
  }

  close(status: ItemStatus): OutputEvent[] {
    const fields = { ...this.#place, name: this.#name, arguments: this.#arguments ?? '' }
    return [['response.function_call_arguments.done', fields], done(this.#place, this.body(status))]
  }
}

import type {
  Annotation,
  Delta,
  SignedReasoning,
  TokenLogprob,
  ToolCallDelta,
} from '../../core/calls/completion.ts'
import { HOSTED_DONE, type HostedEvent } from '../../core/calls/hosted-events.ts'
import type { StoredItem } from '../../core/calls/responses-items.ts'
import { customInput, type DeclaredTool } from '../../core/calls/responses-tools.ts'
import { type Fields, isObject } from '../../core/json/json-object.ts'
import { idPrefix } from './hosted-item.ts'
import type { SealReasoning } from './reasoning-box.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** A typed event without its sequence number. */
export type OutputEvent = readonly [type: string, fields: object]

export interface OutputOptions {
  /** The tools as the client declares them, by the names of their functions. */
  declaredTools: ReadonlyMap<string, DeclaredTool>
  /** Encrypts reasoning for `encrypted_content`; absent: it was not asked for. */
  sealReasoning?: SealReasoning | undefined
  /** Encrypts signed reasoning for the stored response alone; absent: it is not stored, or encrypted for its client too. */
  keepReasoning?: SealReasoning | undefined
  /** Encrypts the text, which is a summary of the conversation: the output is one item `compaction`. Absent: it is an answer. */
  sealSummary?: ((text: string) => string) | undefined
}

/**
 * Assembles the output items of one response from deltas, and makes the events for them. A message or reasoning ends
 * when another item begins; its continuation is a further item. Tool calls stay open until the end, because providers
 * may continue an earlier one.
 */
export class ResponseOutput {
  readonly #callId: string
  readonly #options: OutputOptions
  /** All items in the order of their first delta. */
  readonly #items: OutputItem[] = []
  /** The items that may be continued, by name. */
  readonly #open = new Map<string, OutputItem>()
  /** By their place in the provider's output. */
  readonly #hostedItems = new Map<number, HostedItem>()
  /** How many items had a name. */
  readonly #opened = new Map<string, number>()

  /** @param callId part of the items' ids */
  constructor(callId: string, options: OutputOptions) {
    this.#callId = callId
    this.#options = options
  }

  add(delta: Delta): OutputEvent[] {
    const { sealSummary } = this.#options
    if (sealSummary) {
      if (delta[0] !== 'text') return []
      return this.#addText('cmp', 'text', delta[1], (place) => new CompactionItem(place, sealSummary))
    }
    switch (delta[0]) {
      case 'text':
      case 'refusal':
        return this.#addText('msg', delta[0], delta[1], (place) => new TextItem(place, MESSAGE))
      case 'reasoning': {
        return this.#addText('rs', delta[0], delta[1], (place) => new ReasoningItem(place, this.#options))
      }
      case 'signed':
        return this.#sign(delta[1])
      case 'tool-calls':
        return delta[1].flatMap((call) => this.#addCall(call))
      case 'annotations':
        return delta[1].flatMap((annotation) => this.#ofText((message) => message.annotate(annotation)))
      case 'hosted':
        return this.#hosted(delta[1])
      case 'logprobs':
        return this.#ofText((message) => message.addLogprobs(delta[1]))
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
    const last = this.#items.at(-1)
    return [...this.#open.values()].flatMap((item) => item.close(item === last ? status : 'completed'))
  }

  /** The current items. @param status as in `close`. @param toStore with what only the stored response has */
  items(status: ItemStatus, toStore = false): StoredItem[] {
    return this.#items.map((item, index) =>
      item.body(index < this.#items.length - 1 ? 'completed' : status, toStore),
    )
  }

  #addText(name: string, kind: PartKind, text: string, make: (place: Place) => TextItem): OutputEvent[] {
    const known = this.#open.get(name)
    if (known instanceof TextItem) return known.add(kind, text)
    const ended = this.#endTexts()
    return [...ended, ...this.#begin(name, make).add(kind, text)]
  }

  /** Signs the open reasoning, or reasoning without a text. */
  #sign(signed: SignedReasoning): OutputEvent[] {
    if (!(this.#options.sealReasoning ?? this.#options.keepReasoning)) return []
    const known = this.#open.get('rs')
    if (known instanceof ReasoningItem) return known.sign(signed)
    const ended = this.#endTexts()
    return [...ended, ...this.#begin('rs', (place) => new ReasoningItem(place, this.#options)).sign(signed)]
  }

  #addCall(call: ToolCallDelta): OutputEvent[] {
    const name = `fc_${call.index}`
    const known = this.#open.get(name)
    if (known instanceof FunctionCallItem) return known.add(call)
    const called = call.function?.name ?? ''
    const tool = this.#options.declaredTools.get(called) ?? { name: called, isCustom: false }
    const ended = this.#endTexts()
    const item = this.#begin(name, (place) =>
      tool.isCustom ? new CustomCallItem(place, call, tool) : new FunctionCallItem(place, call, tool),
    )
    return [...ended, ...item.add(call)]
  }

  /** What a tool of the provider does, at the place that its item has here. */
  #hosted({ type, output_index: index, item, item_id: _id, ...fields }: HostedEvent): OutputEvent[] {
    const known = this.#hostedItems.get(index)
    if (isObject(item)) {
      if (known) return type === HOSTED_DONE ? known.end(item) : []
      const ended = this.#endTexts()
      const own = this.#begin(idPrefix(item.id), (place) => new HostedItem(place, item))
      this.#hostedItems.set(index, own)
      return [...ended, added(own.place, own.body()), ...(type === HOSTED_DONE ? own.end(item) : [])]
    }
    return known ? [[type, { ...known.place, ...fields }]] : []
  }

  /** What is about the text before it: an annotation, whose places are those of its message, or log probabilities. */
  #ofText(add: (message: TextItem) => OutputEvent[]): OutputEvent[] {
    const message = this.#open.get('msg')
    return message instanceof TextItem ? add(message) : []
  }

  /** Ends the message or the reasoning that is open. */
  #endTexts(): OutputEvent[] {
    const events: OutputEvent[] = []
    for (const [name, item] of this.#open) {
      if (!(item instanceof TextItem)) continue
      events.push(...item.close('completed'))
      this.#open.delete(name)
    }
    return events
  }

  #begin<Item extends OutputItem>(name: string, make: (place: Place) => Item): Item {
    const before = this.#opened.get(name) ?? 0
    this.#opened.set(name, before + 1)
    const ownName = before === 0 ? name : `${name}_${before}`
    const item = make({ item_id: `${ownName}_${this.#callId}`, output_index: this.#items.length })
    this.#items.push(item)
    this.#open.set(name, item)
    return item
  }
}

interface Place {
  item_id: string
  output_index: number
}

interface OutputItem {
  body(status: ItemStatus, toStore?: boolean): StoredItem
  close(status: ItemStatus): OutputEvent[]
}

const ITEM_ADDED = 'response.output_item.added'
const added = ({ output_index }: Place, item: object): OutputEvent => [ITEM_ADDED, { output_index, item }]
const done = ({ output_index }: Place, item: object): OutputEvent => [
  'response.output_item.done',
  { output_index, item },
]

const MESSAGE = { type: 'message', role: 'assistant' }
const REASONING = { type: 'reasoning', summary: [] }
const COMPACTION = { type: 'compaction' }

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
  protected readonly place: Place
  readonly #head: object
  readonly #texts = new Map<PartKind, string>()
  #isAdded = false
  readonly #annotations: object[] = []
  readonly #logprobs: TokenLogprob[] = []

  constructor(place: Place, head: object) {
    this.place = place
    this.#head = head
  }

  add(kind: PartKind, text: string): OutputEvent[] {
    const events = this.begin()
    const known = this.#texts.get(kind)
    this.#texts.set(kind, (known ?? '') + text)
    const place = this.#placeOf(kind)
    if (known === undefined)
      events.push(['response.content_part.added', { ...place, part: partOf(kind, '') }])
    const { event, beside } = PARTS[kind]
    return [...events, [`${event}.delta`, { ...place, delta: text, ...beside }]]
  }

  annotate({ type, ...annotation }: Annotation): OutputEvent[] {
    if (!this.#texts.has('text')) return []
    const { [String(type)]: fields } = annotation
    const flat = { type, ...(isObject(fields) ? fields : annotation) }
    this.#annotations.push(flat)
    const place = { ...this.#placeOf('text'), annotation_index: this.#annotations.length - 1 }
    return [['response.output_text.annotation.added', { ...place, annotation: flat }]]
  }

  /** They are sent where the text ends. */
  addLogprobs(tokens: readonly TokenLogprob[]): OutputEvent[] {
    for (const token of tokens) this.#logprobs.push(token)
    return []
  }

  protected begin(): OutputEvent[] {
    if (this.#isAdded) return []
    this.#isAdded = true
    return [added(this.place, this.body('in_progress'))]
  }

  body(status: ItemStatus): StoredItem {
    const content = Array.from(this.#texts, ([kind, text]) => this.#part(kind, text))
    return { id: this.place.item_id, ...this.#head, status, content }
  }

  close(status: ItemStatus): OutputEvent[] {
    const ends = Array.from(this.#texts).flatMap(([kind, text]): OutputEvent[] => {
      const { event, field, beside } = PARTS[kind]
      const place = this.#placeOf(kind)
      return [
        [
          `${event}.done`,
          { ...place, [field]: text, ...beside, ...(kind === 'text' && { logprobs: this.#logprobs }) },
        ],
        ['response.content_part.done', { ...place, part: this.#part(kind, text) }],
      ]
    })
    return [...ends, done(this.place, this.body(status))]
  }

  protected textOf(kind: PartKind): string {
    return this.#texts.get(kind) ?? ''
  }

  #part(kind: PartKind, text: string): object {
    const part = partOf(kind, text)
    return kind === 'text' ? { ...part, annotations: this.#annotations, logprobs: this.#logprobs } : part
  }

  #placeOf(kind: PartKind): Place & { content_index: number } {
    return { ...this.place, content_index: [...this.#texts.keys()].indexOf(kind) }
  }
}

/** Reasoning, also encrypted if that was asked for: clients pass it back so where they drop its text. */
class ReasoningItem extends TextItem {
  readonly #options: OutputOptions
  readonly #signed: SignedReasoning[] = []
  #sealed: { text: string; encrypted: string } | null = null

  constructor(place: Place, options: OutputOptions) {
    super(place, REASONING)
    this.#options = options
  }

  sign(signed: SignedReasoning): OutputEvent[] {
    this.#signed.push(signed)
    this.#sealed = null
    return this.begin()
  }

  override body(status: ItemStatus, toStore = false): StoredItem {
    const body = super.body(status)
    const { sealReasoning: seal, keepReasoning: keep } = this.#options
    const text = this.textOf('reasoning')
    if (!seal) {
      const isKept = toStore && keep && this.#signed.length > 0
      return isKept ? { ...body, sealed_reasoning: keep({ text, signed: this.#signed }) } : body
    }
    if ((text === '' && this.#signed.length === 0) || status === 'in_progress')
      return { ...body, encrypted_content: null }
    if (this.#sealed?.text !== text) this.#sealed = { text, encrypted: seal({ text, signed: this.#signed }) }
    return { ...body, encrypted_content: this.#sealed.encrypted }
  }
}

/** A summary that only the gateway reads. */
class CompactionItem extends TextItem {
  readonly #seal: (text: string) => string
  /** It is sent twice. */
  #encrypted: string | null = null

  constructor(place: Place, seal: (text: string) => string) {
    super(place, COMPACTION)
    this.#seal = seal
  }

  override add(kind: PartKind, text: string): OutputEvent[] {
    return super.add(kind, text).filter(([type]) => type === ITEM_ADDED)
  }

  override body(status: ItemStatus): StoredItem {
    const { item_id: id } = this.place
    if (status === 'in_progress') return { id, ...COMPACTION, encrypted_content: '' }
    this.#encrypted ??= this.#seal(this.textOf('text'))
    return { id, ...COMPACTION, encrypted_content: this.#encrypted }
  }

  override close(status: ItemStatus): OutputEvent[] {
    return [done(this.place, this.body(status))]
  }
}

/** An item of a provider's tool, as its maker writes it but for its id. */
class HostedItem implements OutputItem {
  readonly place: Place
  #item: Fields
  #isDone = false

  constructor(place: Place, item: Fields) {
    this.place = place
    this.#item = item
  }

  end(item: Fields): OutputEvent[] {
    if (this.#isDone) return []
    this.#isDone = true
    this.#item = item
    return [done(this.place, this.body())]
  }

  body(): StoredItem {
    return { ...this.#item, id: this.place.item_id }
  }

  /** One without an end is reported as it is. */
  close(): OutputEvent[] {
    return this.end(this.#item)
  }
}

class FunctionCallItem implements OutputItem {
  protected readonly place: Place
  readonly #callId: string
  readonly #tool: DeclaredTool
  #arguments: string | null = null

  /** An id that the provider omits is replaced with a number, because clients need one. */
  constructor(place: Place, { index, id }: ToolCallDelta, tool: DeclaredTool) {
    this.place = place
    this.#callId = id ?? `call_${index}`
    this.#tool = tool
  }

  add({ function: call }: ToolCallDelta): OutputEvent[] {
    const events: OutputEvent[] = []
    if (this.#arguments === null) events.push(added(this.place, this.body('in_progress')))
    const text = call?.arguments ?? ''
    this.#arguments = (this.#arguments ?? '') + text
    return text === '' ? events : [...events, ...this.added(text)]
  }

  /** The events of further arguments. */
  protected added(text: string): OutputEvent[] {
    return [['response.function_call_arguments.delta', { ...this.place, delta: text }]]
  }

  protected get text(): string {
    return this.#arguments ?? ''
  }

  body(status: ItemStatus): StoredItem {
    return this.bodyOf('function_call', status, { arguments: this.text })
  }

  protected bodyOf(type: string, status: ItemStatus, given: object): StoredItem {
    const { isCustom: _, ...called } = this.#tool
    return { id: this.place.item_id, type, status, call_id: this.#callId, ...called, ...given }
  }

  close(status: ItemStatus): OutputEvent[] {
    const fields = { ...this.place, name: this.#tool.name, arguments: this.text }
    return [['response.function_call_arguments.done', fields], done(this.place, this.body(status))]
  }
}

/** A call of a custom tool. Its input is known once its arguments are complete, so it comes as one delta. */
class CustomCallItem extends FunctionCallItem {
  protected override added(): OutputEvent[] {
    return []
  }

  override body(status: ItemStatus): StoredItem {
    return this.bodyOf('custom_tool_call', status, { input: customInput(this.text) })
  }

  override close(status: ItemStatus): OutputEvent[] {
    const input = customInput(this.text)
    return [
      ['response.custom_tool_call_input.delta', { ...this.place, delta: input }],
      ['response.custom_tool_call_input.done', { ...this.place, input }],
      done(this.place, this.body(status)),
    ]
  }
}

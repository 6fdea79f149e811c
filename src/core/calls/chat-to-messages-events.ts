import type {
  ChatDelta,
  CompletionMessage,
  FinishReason,
  KeptReasoning,
  ToolCallDelta,
} from './completion.ts'
import type { NativeBlock, NativeBlockDelta, NativeEvent, NativeStop } from './messages-wire.ts'

/** Converts a completion of another wire to the terms of the messages wire. */

const STOP_REASONS: Record<FinishReason, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

/** Of a completion whose provider does not say which stop sequence ended it. */
export const nativeStop = (reason: FinishReason, callsTools: boolean): NativeStop => ({
  stop_reason: reason === 'stop' && callsTools ? 'tool_use' : STOP_REASONS[reason],
  stop_sequence: null,
})

type Seal = (reasoning: KeptReasoning) => string

/** The blocks of a whole completion: thinking, signed by what its maker wants back, text, and tool calls. */
export function nativeBlocks(
  { reasoning, signed = [], content, refusal, tool_calls: calls = [] }: CompletionMessage,
  seal: Seal,
): NativeBlock[] {
  const sealed = signed.length > 0 ? seal({ text: '', signed }) : ''
  const text = (content ?? '') + (refusal ?? '')
  return [
    ...(reasoning ? [{ type: 'thinking' as const, thinking: reasoning, signature: sealed }] : []),
    ...(sealed !== '' && !reasoning ? [{ type: 'redacted_thinking' as const, data: sealed }] : []),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ id, function: { name, arguments: json } }) => ({
      type: 'tool_use' as const,
      id,
      name,
      json,
    })),
  ]
}

/** The events of one streamed completion: its blocks come one after another, each opened and ended once. */
export class NativeEvents {
  /** The open block: thinking, text, or the tool call with this index. */
  #open: 'thinking' | 'text' | number | null = null
  #blocks = 0
  /** The arguments of the open call. */
  #json = ''
  /** Deltas of later calls, which wait for the open one. */
  readonly #waiting = new Map<number, ToolCallDelta[]>()
  readonly #ended = new Set<number>()
  #callsTools = false
  readonly #seal: Seal

  constructor(seal: Seal) {
    this.#seal = seal
  }

  get callsTools(): boolean {
    return this.#callsTools
  }

  add(delta: ChatDelta): NativeEvent[] {
    switch (delta[0]) {
      case 'text':
      case 'refusal':
        return this.#text('text', { type: 'text', text: '' }, { type: 'text_delta', text: delta[1] })
      case 'reasoning': {
        const block = { type: 'thinking', thinking: '', signature: '' } as const
        return this.#text('thinking', block, { type: 'thinking_delta', thinking: delta[1] })
      }
      case 'signed':
        return this.#signed(this.#seal({ text: '', signed: [delta[1]] }))
      case 'tool-calls':
        return delta[1].flatMap((call) => this.#call(call))
      case 'logprobs':
      case 'annotations':
        // Requests on this wire cannot ask for the former; the latter have no place on it.
        return []
      default:
        return delta satisfies never
    }
  }

  /** Ends the open block, and those that wait. */
  end(): NativeEvent[] {
    const events = this.#close()
    for (const [index, deltas] of this.#waiting) {
      this.#waiting.delete(index)
      events.push(...deltas.flatMap((delta) => this.#call(delta)), ...this.#close())
    }
    return events
  }

  #text(kind: 'thinking' | 'text', block: NativeBlock, delta: NativeBlockDelta): NativeEvent[] {
    const opened = this.#open === kind ? [] : [...this.end(), ...this.#start(kind, block)]
    return [...opened, this.#deltaOf(delta)]
  }

  /** Signs the open thinking; without any it is a block of its own. */
  #signed(sealed: string): NativeEvent[] {
    if (this.#open === 'thinking')
      return [this.#deltaOf({ type: 'signature_delta', signature: sealed }), ...this.#close()]
    const block = { type: 'redacted_thinking', data: sealed } as const
    return [...this.end(), ...this.#start('thinking', block), ...this.#close()]
  }

  /** Some providers send several calls at the same time; the wire has one block after another. */
  #call(delta: ToolCallDelta): NativeEvent[] {
    const { index, id = `call_${index}`, function: called = {} } = delta
    // Some providers repeat empty deltas after the arguments.
    if (this.#ended.has(index)) return []
    const events: NativeEvent[] = []
    if (this.#open !== index) {
      if (typeof this.#open === 'number' && !isWhole(this.#json)) {
        this.#waiting.set(index, [...(this.#waiting.get(index) ?? []), delta])
        return []
      }
      this.#callsTools = true
      this.#json = ''
      events.push(
        ...this.#close(),
        ...this.#start(index, { type: 'tool_use', id, name: called.name ?? '', json: '' }),
      )
    }
    if (called.arguments) {
      this.#json += called.arguments
      events.push(this.#deltaOf({ type: 'input_json_delta', partial_json: called.arguments }))
    }
    return this.#waiting.size > 0 && isWhole(this.#json) ? [...events, ...this.end()] : events
  }

  #start(open: 'thinking' | 'text' | number, block: NativeBlock): NativeEvent[] {
    this.#open = open
    return [{ type: 'content_block_start', index: this.#blocks++, content_block: block }]
  }

  #close(): NativeEvent[] {
    if (this.#open === null) return []
    if (typeof this.#open === 'number') this.#ended.add(this.#open)
    this.#open = null
    return [{ type: 'content_block_stop', index: this.#blocks - 1 }]
  }

  #deltaOf(delta: NativeBlockDelta): NativeEvent {
    return { type: 'content_block_delta', index: this.#blocks - 1, delta }
  }
}

function isWhole(json: string): boolean {
  try {
    JSON.parse(json)
    return true
  } catch {
    // The arguments are not complete yet.
    return false
  }
}

import { type Fields, isObject } from '../json/json-object.ts'
import { HOSTED_DONE, type HostedEvent, hostedText } from './hosted-events.ts'
import {
  type NativeBlock,
  type NativeEvent,
  NativeMessageBuilder,
  type NativeStop,
  nativeText,
} from './messages-wire.ts'
import type { Usage } from './usage.ts'

/**
 * A completion between a provider's wire and the client's stream, without anything that could name a provider.
 * To add a kind of content, extend `Delta` and the types beside it, emit it in the reader of a wire, and render it in
 * src/http/calls/chat-format.ts; the stages in between pass deltas on unchanged. Frames (frames.ts) carry them from a
 * worker to an API instance.
 */

/** A tool-call delta as on the chat-completions wire. */
export interface ToolCallDelta {
  index: number
  id?: string
  type?: 'function'
  function?: { name?: string; arguments?: string }
}

export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/**
 * What the provider of a model wants back with its reasoning, or with a tool call: signatures, encrypted reasoning, in the
 * terms of its wire. No other can read it, and clients get it sealed.
 */
export interface SignedReasoning {
  /** See makerOf. */
  maker: string
  /** The id of the tool call that it belongs to; absent: it stands before the calls of the turn. */
  call?: string
  value: unknown
}

/** Reasoning that a client keeps for its maker: its text, where the client may drop that, and what is signed of it. */
export interface KeptReasoning {
  text: string
  signed: readonly SignedReasoning[]
}

/** Opens what an account's client kept; null for all else. */
export type OpenReasoning = (sealed: string) => KeptReasoning | null

const SEALED = /^[\w-]{1,64}\.\d{1,8}\.[\w+/]/
/** Whether a signature, or encrypted reasoning, is of this gateway, as far as its form says. */
export const isSealed = (text: unknown): text is string => typeof text === 'string' && SEALED.test(text)

/** A piece of content, as carried in frames. */
export type Delta =
  | readonly ['text', text: string]
  | readonly ['refusal', text: string]
  | readonly ['tool-calls', deltas: ToolCallDelta[]]
  /** Extended calls only: the reasoning of a model. */
  | readonly ['reasoning', text: string]
  | readonly ['signed', reasoning: SignedReasoning]
  /** Extended calls only: log probabilities of the text before it. */
  | readonly ['logprobs', tokens: readonly TokenLogprob[]]
  /** Extended calls only: what a provider adds to the message, such as its citations. */
  | readonly ['annotations', annotations: readonly Annotation[]]
  /** Extended calls only: what a tool of the provider does. */
  | readonly ['hosted', event: HostedEvent]
  /** Of a native completion, which has no other deltas. */
  | readonly ['native', event: NativeEvent]
  /** Of a call that asks for a result: all of it, as JSON. It is the only delta. */
  | readonly ['result', json: string]

/** A piece of a completion that is no native answer. */
export type ChatDelta = Exclude<Delta, readonly ['native' | 'hosted' | 'result', ...unknown[]]>

/** A token with its log probability, as on the chat-completions wire. */
export interface TokenLogprob {
  token: string
  logprob: number
  bytes: readonly number[] | null
  top_logprobs: ReadonlyArray<Omit<TokenLogprob, 'top_logprobs'>>
}

/** The events of a completion while it is generated. Hidden reasoning is measured in bytes and never passed on. */
export type Progress = Delta | readonly ['thinking', bytes: number]

/** A stage that content passes through. */
export type OnProgress = (progress: Progress) => void

/** As on the chat-completions wire: an object with a `type`. */
export type Annotation = Readonly<Record<string, unknown>>

export const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'] as const
export type FinishReason = (typeof FINISH_REASONS)[number]

/** A finish reason that no table has, as the provider writes it, for operators. */
export interface UnknownFinish {
  unknown: string
}

/** The contents of a provider's stream, in order. Emitted by a wire's `CompletionReader`. */
export type CompletionEvent =
  | Progress
  /**
   * `native`: the same in the terms of a native completion. A reason that no table has is the provider's word: it ends
   * the completion only together with the end of the protocol.
   */
  | readonly ['finish', reason: FinishReason | UnknownFinish, native?: NativeStop]
  /** `reasoningTokens`: the part of the completion tokens that is reasoning, if the provider reports it. */
  | readonly ['usage', usage: Usage, reasoningTokens: number]
  /** The service tier that is served, where the request names one. */
  | readonly ['tier', name: string]

const DELTA_KINDS: Record<Delta[0], true> = {
  text: true,
  refusal: true,
  'tool-calls': true,
  reasoning: true,
  signed: true,
  logprobs: true,
  annotations: true,
  hosted: true,
  native: true,
  result: true,
}

export const isDelta = (value: readonly [kind: string, ...unknown[]]): value is Delta =>
  Object.hasOwn(DELTA_KINDS, value[0])

/** The characters of a delta: its text, refusal or reasoning, or the arguments of its tool calls. */
export function deltaText(delta: Delta): string {
  switch (delta[0]) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return delta[1]
    case 'signed':
    case 'logprobs':
    case 'annotations':
    case 'result':
      return ''
    case 'tool-calls': {
      let text = ''
      for (const { function: call } of delta[1]) text += call?.arguments ?? ''
      return text
    }
    case 'native':
      return nativeText(delta[1])
    case 'hosted':
      return hostedText(delta[1])
    default:
      return delta satisfies never
  }
}

export interface CompletionMessage {
  content: string | null
  refusal?: string
  tool_calls?: ToolCall[]
  /** Extended calls only. */
  reasoning?: string
  signed?: SignedReasoning[]
  logprobs?: TokenLogprob[]
  annotations?: Annotation[]
  /** The items of tools that the provider ran, or asks its client to run; `at`: the characters of the content before it. */
  hosted?: Array<{ item: Fields; at: number }>
  /** The blocks of a native completion, which has no other content. */
  native?: NativeBlock[]
  /** JSON, of a call that asks for a result; it has nothing else. */
  result?: string
}

/** Assembles deltas. */
export class CompletionBuilder {
  #content = ''
  #refusal = ''
  readonly #toolCalls = new Map<number, ToolCall>()
  #reasoning = ''
  readonly #signed: SignedReasoning[] = []
  #logprobs: TokenLogprob[] = []
  #annotations: Annotation[] = []
  readonly #hosted: Array<{ item: Fields; at: number }> = []
  #nativeMessage: NativeMessageBuilder | null = null
  #result: string | null = null

  /** The text so far. */
  get content(): string {
    return this.#content
  }

  get isEmpty(): boolean {
    return this.#content === '' && this.isTextOnly
  }

  /** True while there is only text. */
  get isTextOnly(): boolean {
    return this.isRepeatable && this.#toolCalls.size === 0
  }

  /** True while there are only text and tool calls, which another model may reproduce. */
  get isRepeatable(): boolean {
    const isOther = this.#nativeMessage !== null || this.#result !== null
    const isPlain =
      this.#logprobs.length + this.#annotations.length + this.#signed.length + this.#hosted.length === 0
    return !isOther && isPlain && this.#refusal === '' && this.#reasoning === ''
  }

  /** By their index. */
  get toolCalls(): ReadonlyMap<number, ToolCall> {
    return this.#toolCalls
  }

  /** Whether there is content besides reasoning. */
  get hasContent(): boolean {
    return this.#content !== '' || this.#hasOtherContent
  }

  get #hasOtherContent(): boolean {
    return (
      this.#refusal !== '' ||
      this.#hosted.length > 0 ||
      this.#toolCalls.size > 0 ||
      this.#nativeMessage !== null ||
      this.#result !== null
    )
  }

  add(delta: Delta): void {
    switch (delta[0]) {
      case 'text':
        this.#content += delta[1]
        break
      case 'refusal':
        this.#refusal += delta[1]
        break
      case 'tool-calls':
        for (const call of delta[1]) addTo(this.#toolCalls, call)
        break
      case 'reasoning':
        this.#reasoning += delta[1]
        break
      case 'signed':
        this.#signed.push(delta[1])
        break
      case 'logprobs':
        for (const token of delta[1]) this.#logprobs.push(token)
        break
      case 'annotations':
        this.#annotations.push(...delta[1])
        break
      case 'hosted':
        if (delta[1].type === HOSTED_DONE && isObject(delta[1].item))
          this.#hosted.push({ item: delta[1].item, at: this.#content.length })
        break
      case 'native':
        this.#nativeMessage ??= new NativeMessageBuilder()
        this.#nativeMessage.add(delta[1])
        break
      case 'result':
        this.#result = delta[1]
        break
      default:
        delta satisfies never
    }
  }

  message(): CompletionMessage {
    const toolCalls = inOrder(this.#toolCalls)
    return {
      content: this.#content === '' && this.#hasOtherContent ? null : this.#content,
      ...(this.#refusal !== '' && { refusal: this.#refusal }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
      ...(this.#reasoning !== '' && { reasoning: this.#reasoning }),
      ...(this.#signed.length > 0 && { signed: this.#signed }),
      ...(this.#logprobs.length > 0 && { logprobs: this.#logprobs }),
      ...(this.#annotations.length > 0 && { annotations: this.#annotations }),
      ...(this.#hosted.length > 0 && { hosted: this.#hosted }),
      ...(this.#nativeMessage && { native: this.#nativeMessage.content }),
      ...(this.#result !== null && { result: this.#result }),
    }
  }
}

function addTo(calls: Map<number, ToolCall>, delta: ToolCallDelta): void {
  let call = calls.get(delta.index)
  if (!call) {
    call = { id: '', type: 'function', function: { name: '', arguments: '' } }
    calls.set(delta.index, call)
  }
  if (delta.id !== undefined) call.id = delta.id
  // A name is sent as a whole, but some providers repeat it in every delta.
  if (delta.function?.name) call.function.name = delta.function.name
  if (delta.function?.arguments !== undefined) call.function.arguments += delta.function.arguments
}

/** Complete tool calls, ordered by index. Missing ids are numbered, since clients need one. */
const inOrder = (calls: ReadonlyMap<number, ToolCall>): ToolCall[] =>
  [...calls]
    .sort(([a], [b]) => a - b)
    .map(([index, call]) => ({ ...call, function: { ...call.function }, id: call.id || `call_${index}` }))

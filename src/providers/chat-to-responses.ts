import type { ChatMessage } from '../core/calls/chat-request.ts'
import type { Annotation, FinishReason, ToolCallDelta } from '../core/calls/completion.ts'
import { type ContentPart, isAddress } from '../core/calls/content-part.ts'
import { HOSTED_DONE, isHostedItem, isHostedProgress } from '../core/calls/hosted-events.ts'
import { isOpened } from '../core/calls/hosted-tools.ts'
import { usesUnstated } from '../core/calls/provider-tools.ts'
import type { Usage } from '../core/calls/usage.ts'
import { makerOf, type Offer } from '../core/catalog/catalog.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../core/json/json-text.ts'
import {
  emitLogprobs,
  failureOfErrorObject,
  failureOfStatus,
  fieldsPassed,
  losesSchema,
} from './chat-completions.ts'
import { historyFor, urlOf } from './chat-messages.ts'
import { SAYS_NOTHING, signedBy } from './conversation.ts'
import { brokenFinish, readFinishReason } from './finish-reasons.ts'
import { promptParts } from './prompt-parts.ts'
import { nearestEffort } from './reasoning-effort.ts'
import { ToolCallIds, ToolCallReader } from './tool-calls.ts'
import {
  acceptedParameters,
  type ChatAttempt,
  type CompletionReader,
  completionUrl,
  count,
  type Emit,
  type Fields,
  functionTools,
  isObject,
  jsonInstruction,
  parseObject,
  requestHeaders,
  type StreamSignal,
  samplingFor,
  type WholeReading,
  type WireMapping,
} from './wire.ts'

/** The wire of OpenAI's responses API, for models that their makers offer on it alone. */
export const openaiResponses: WireMapping = {
  request: (request, apiKey) => ({
    url: completionUrl(request.offer, '/responses'),
    headers: requestHeaders(request.offer.provider, apiKey, 'authorization'),
    body: requestBody(request),
  }),
  openReader: (request) => new ResponsesReader(request),
  failureOfStatus,
  failureOfErrorObject,
}

/** The body of a request on the responses wire. Nothing is stored at the provider, and nothing there is referred to. */
export function requestBody(request: ChatAttempt): string {
  const { offer, completionLimit, hosted } = request
  const { quirks = {} } = offer.provider
  const parameters = acceptedParameters(request)
  const { reasoning_effort: effort, top_logprobs: topLogprobs, passed } = parameters
  const { temperature, topP } = samplingFor(request)
  const instruction = losesSchema(parameters, quirks) ? jsonInstruction(parameters.response_format) : null
  const format = instruction === null ? toFormat(parameters.response_format) : { type: 'json_object' }
  const include = [
    ...(request.extended && offer.reasons ? ['reasoning.encrypted_content'] : []),
    ...(parameters.logprobs ? ['message.output_text.logprobs'] : []),
    ...(hosted?.include ?? []),
  ]
  const body: Record<string, unknown> = {
    ...quirks.fixedFields,
    model: offer.upstreamModel,
    instructions: instruction ?? undefined,
    input:
      hosted?.input?.flatMap((item) => toHostedItem(item, offer)) ??
      historyFor(request.messages, quirks).flatMap((message) => toItems(message, offer)),
    stream: true,
    store: false,
    max_output_tokens: completionLimit,
    temperature,
    top_p: topP,
    ...withHostedTools(toTools(parameters), request),
    text: format && { format },
    ...(effort && { reasoning: { effort: nearestEffort(effort, quirks.efforts) } }),
    include: include.length > 0 ? include : undefined,
    top_logprobs: topLogprobs,
    ...(passed && fieldsPassed(passed, request)),
  }
  for (const field of quirks.omit ?? []) delete body[field]
  return JSON.stringify(body)
}

/** An item as the client sent it; reasoning as its maker signed it, which no other gets. */
function toHostedItem(item: Fields, offer: Offer): Fields[] {
  if (!isOpened(item)) return [item]
  return item.signed.flatMap(({ maker, value }) =>
    maker === makerOf(offer) && isObject(value) ? [value] : [],
  )
}

/** With the tools that the provider runs; the bound on their uses is what is held for. */
function withHostedTools(own: Fields, { hosted, offer: { provider } }: ChatAttempt): Fields {
  if (!hosted || hosted.tools.length === 0) return own
  const tools = [...((own.tools ?? []) as Fields[]), ...hosted.tools.map(({ tool }) => tool)]
  return { ...own, tools, max_tool_calls: usesUnstated(provider.quirks) }
}

function toItems(message: ChatMessage, offer: Offer): object[] {
  const { role, content, name, tool_calls: calls = [], tool_call_id: callId } = message
  if (role === 'tool') return [{ type: 'function_call_output', call_id: callId, output: toContent(content) }]
  const parts: ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : [...content]
  if (role === 'user' && name !== undefined) parts.unshift({ type: 'text', text: `${name}:` })
  const isSilent = calls.length > 0 && parts.every((part) => part.type === 'text' && part.text.trim() === '')
  const sent = role === 'developer' && !offer.provider.quirks?.developerRole ? 'system' : role
  return [
    ...signedBy(makerOf(offer), message).flatMap(({ value }) => (isObject(value) ? [value] : [])),
    ...(isSilent ? [] : [{ role: sent, content: toContent(parts.length === 1 ? content : parts) }]),
    ...calls.map(({ id, function: call }) => ({ type: 'function_call', call_id: id, ...call })),
  ]
}

/** Text alone as text, which every server takes and which is all that an assistant may have. */
function toContent(content: ChatMessage['content']): string | object[] {
  if (typeof content === 'string') return content
  if (content.every((part) => part.type === 'text')) return content.map(({ text }) => text).join('\n')
  const parts = content.flatMap(toPart)
  return parts.length > 0 ? parts : SAYS_NOTHING
}

/** The wire has no video; routing sends none to its models. */
function toPart(part: ContentPart): object[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'input_text', text: part.text }]
    case 'image':
      return [{ type: 'input_image', image_url: urlOf(part.source), detail: part.detail ?? 'auto' }]
    case 'file': {
      const { source, filename = 'file.pdf' } = part
      return [
        isAddress(source)
          ? { type: 'input_file', file_url: source.url }
          : { type: 'input_file', filename, file_data: urlOf(source) },
      ]
    }
    case 'audio':
      return [{ type: 'input_audio', input_audio: { data: part.source.base64, format: part.format } }]
    case 'video':
      return []
    default:
      return part satisfies never
  }
}

function toTools({ tools, tool_choice: choice, parallel_tool_calls }: ChatAttempt['parameters']): Fields {
  const functions = functionTools(tools)
  if (functions.length === 0) return {}
  return {
    tools: functions.map(({ name, description, parameters, isStrict }) => ({
      type: 'function',
      name,
      description,
      parameters: parameters ?? { type: 'object', properties: {} },
      // Unlike on the chat-completions wire a schema is strict unless it says otherwise.
      strict: isStrict,
    })),
    tool_choice: typeof choice === 'object' ? { type: 'function', name: choice.function.name } : choice,
    parallel_tool_calls,
  }
}

/** `text.format`; undefined for plain text. */
function toFormat(format: Record<string, unknown> | undefined): object | undefined {
  if (format?.type !== 'json_schema')
    return format?.type === 'json_object' ? { type: 'json_object' } : undefined
  const named = isObject(format.json_schema) ? format.json_schema : {}
  return { name: 'response', ...named, type: 'json_schema', strict: named.strict === true }
}

type ReadTerms = Partial<Pick<ChatAttempt, 'extended' | 'messages' | 'offer' | 'parameters' | 'hosted'>>

/**
 * Reads one completion on the responses wire. Text is taken from the deltas of an item, and from its end if there were
 * none, as some servers send it.
 */
export class ResponsesReader implements CompletionReader {
  readonly #isExtended: boolean
  readonly #calls: ToolCallReader
  /** The items, by id and by index, of which something was read. */
  readonly #read = new Set<unknown>()
  readonly #namesTier: boolean
  readonly #maker: string | undefined
  /** Encrypted reasoning, as the maker wants it back. */
  readonly #encrypted: Fields[] = []
  /** Whether what its tools do is passed on. */
  readonly #isHosted: boolean
  readonly #uses = { webSearches: 0, codeExecutions: 0 }

  constructor({ extended, messages, offer, parameters, hosted }: ReadTerms = {}) {
    this.#isHosted = hosted !== undefined
    this.#isExtended = extended === true
    this.#maker = extended && offer && makerOf(offer)
    this.#calls = new ToolCallReader(new ToolCallIds(messages))
    this.#namesTier = parameters?.passed?.service_tier !== undefined
  }

  event(data: string, emit: Emit): StreamSignal {
    const event = parseObject(data)
    if (event === null) return data.trim() === '[DONE]' ? 'done' : 'malformed'
    switch (event.type) {
      case 'response.output_text.delta': {
        const signal = this.#text('text', event, emit)
        if (this.#isExtended) emitLogprobs({ content: event.logprobs }, emit)
        return signal
      }
      case 'response.refusal.delta':
        return this.#text('refusal', event, emit)
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return this.#thought(event, emit)
      case 'response.reasoning_summary_part.added':
        return Number(event.summary_index) > 0 ? this.#thought({ ...event, delta: '\n\n' }, emit) : 'thinking'
      case 'response.output_text.annotation.added':
        return this.#annotations([event.annotation], emit)
      case 'response.function_call_arguments.delta':
        return this.#call(event, { arguments: event.delta }, emit)
      case 'response.output_item.added':
        return this.#begin(event, emit)
      case 'response.output_item.done':
        return this.#item(event, emit)
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.#end(event.response, event.type.slice('response.'.length), emit) ?? 'done'
      case 'error':
        return { error: event.error ?? event }
      default:
        if (event.error != null) return { error: event.error }
        if (typeof event.type !== 'string') return 'malformed'
        // A search or a program that the provider runs.
        if (isHostedProgress(event.type)) return this.#hosted(event, emit) ?? 'thinking'
        return event.type.includes('_call.') ? 'thinking' : 'other'
    }
  }

  whole(body: string, emit: Emit): WholeReading {
    const response = parseObject(body)
    if (response === null) return 'malformed'
    if (response.error != null) return { error: response.error }
    if (!Array.isArray(response.output) || typeof response.status !== 'string') return 'malformed'
    return this.#end(response, null, emit) ?? 'ok'
  }

  /** The wire has no finish reason for tool calls. */
  end(reason: FinishReason, emit: Emit): FinishReason {
    if (this.#calls.isEmpty || reason !== 'stop') return reason
    const deltas = this.#calls.end()
    if (deltas.length > 0) emit(['tool-calls', deltas])
    for (const value of this.#encrypted)
      if (this.#maker !== undefined) emit(['signed', { maker: this.#maker, value }])
    return 'tool_calls'
  }

  #text(kind: 'text' | 'refusal', event: Fields, emit: Emit): StreamSignal {
    if (typeof event.delta !== 'string' || event.delta === '') return 'other'
    this.#note(event)
    emit([kind, event.delta])
    return 'content'
  }

  #thought(event: Fields, emit: Emit): StreamSignal {
    if (typeof event.delta !== 'string' || event.delta === '') return 'thinking'
    this.#note(event)
    if (this.#isExtended) emit(['reasoning', event.delta])
    else emit(['thinking', Buffer.byteLength(event.delta)])
    return 'thinking'
  }

  #annotations(given: readonly unknown[], emit: Emit): StreamSignal {
    const annotations = given.flatMap((one): Annotation[] => {
      if (!isObject(one) || typeof one.type !== 'string' || isNestedDeeperThan(one, MAX_NESTING)) return []
      const { type, ...fields } = one
      return [{ type, [type]: fields }]
    })
    if (this.#isExtended && annotations.length > 0) emit(['annotations', annotations])
    return 'other'
  }

  #begin({ item, ...event }: Fields, emit: Emit): StreamSignal {
    if (!isObject(item)) return 'malformed'
    if (item.type === 'function_call') return this.#call({ ...event, item_id: item.id }, item, emit)
    if (isHostedItem(item)) return this.#hosted({ ...event, item }, emit) ?? 'thinking'
    return item.type === 'message' ? 'other' : 'thinking'
  }

  /** An item that is whole: what of it did not come before. */
  #item({ item, ...event }: Fields, emit: Emit): StreamSignal {
    if (!isObject(item)) return 'malformed'
    const { type, summary = [], encrypted_content: encrypted } = item
    if (type === 'reasoning' && encrypted && !isNestedDeeperThan(item, MAX_NESTING))
      this.#encrypted.push({ type, summary, encrypted_content: encrypted })
    if (isHostedItem(item)) {
      if (this.#isHosted) this.#use(type, emit)
      return this.#hosted({ ...event, type: HOSTED_DONE, item }, emit) ?? 'thinking'
    }
    const place = { ...event, item_id: item.id }
    if (this.#read.has(item.id) || this.#read.has(event.output_index)) return 'other'
    const signal = this.#wholeItem(item, place, emit)
    this.#note(place)
    return signal
  }

  #wholeItem(item: Fields, place: Fields, emit: Emit): StreamSignal {
    switch (item.type) {
      case 'message': {
        let signal: StreamSignal = 'other'
        for (const part of partsOf(item.content)) {
          const isRefusal = part.type === 'refusal'
          const delta = isRefusal ? part.refusal : part.text
          if (this.#text(isRefusal ? 'refusal' : 'text', { ...place, delta }, emit) === 'content')
            signal = 'content'
          if (this.#isExtended) emitLogprobs({ content: part.logprobs }, emit)
          if (Array.isArray(part.annotations)) this.#annotations(part.annotations, emit)
        }
        return signal
      }
      case 'reasoning': {
        const texts = [...partsOf(item.content), ...partsOf(item.summary)].map(({ text }) => text)
        const delta = texts.filter((text) => typeof text === 'string').join('\n\n')
        return this.#thought({ ...place, delta }, emit)
      }
      case 'function_call':
        return this.#call(place, item, emit)
      default:
        return 'thinking'
    }
  }

  /** A piece of a call: its name comes first, its arguments in pieces or at its end. */
  #call(place: Fields, { call_id, name, arguments: json }: Fields, emit: Emit): StreamSignal {
    const piece = { id: call_id, index: place.output_index, function: { name, arguments: json } }
    const deltas: ToolCallDelta[] | null = this.#calls.read(piece, false)
    if (deltas === null) return 'malformed'
    if (json !== undefined && json !== '') this.#note(place)
    if (deltas.length === 0) return 'other'
    emit(['tool-calls', deltas])
    return 'content'
  }

  /** A use is billed even if the completion breaks off after it, so that it is reported at once, with what is no count of tokens. */
  #use(type: unknown, emit: Emit): void {
    if (type === 'web_search_call') this.#uses.webSearches += 1
    else if (type === 'code_interpreter_call') this.#uses.codeExecutions = 1
    else return
    emit(['usage', { promptTokens: 0, completionTokens: 1, ...promptParts(this.#uses) }, 0])
  }

  /** What a tool of the provider does, for a client that declared it; null: it is not passed on. */
  #hosted(event: Fields, emit: Emit): StreamSignal | null {
    const { type, output_index: index, sequence_number: _number, ...fields } = event
    const isPassed = this.#isHosted && typeof index === 'number' && !isNestedDeeperThan(fields, MAX_NESTING)
    if (!isPassed || typeof type !== 'string') return null
    this.#note({ output_index: index })
    emit(['hosted', { ...fields, type, output_index: index }])
    return 'content'
  }

  #note({ output_index: index, item_id: id }: Fields): void {
    if (index !== undefined) this.#read.add(index)
    if (id !== undefined) this.#read.add(id)
  }

  /**
   * The response, at its end: its items if none came before, its usage and how it ended. Null if it is whole.
   * @param ended how by the event that ends it; null if there is none
   */
  #end(response: unknown, ended: string | null, emit: Emit): 'malformed' | { error: unknown } | null {
    if (!isObject(response)) return 'malformed'
    const { status = ended, error, output, service_tier: tier } = response
    if (this.#namesTier && typeof tier === 'string' && tier !== '') emit(['tier', tier])
    if (error != null) {
      emitUsage(response.usage, this.#uses, emit)
      return { error }
    }
    if (this.#read.size === 0 && this.#calls.isEmpty && Array.isArray(output))
      for (const [index, item] of output.entries())
        if (this.#item({ item, output_index: index }, emit) === 'malformed') return 'malformed'
    const details = isObject(response.incomplete_details) ? response.incomplete_details : {}
    const word = status === 'incomplete' ? (details.reason ?? status) : status
    const reason = readFinishReason(word)
    if (reason === 'error') return brokenFinish(word)
    if (reason === null || UNFINISHED.has(word)) return 'malformed'
    emit(['finish', reason])
    emitUsage(response.usage, this.#uses, emit)
    return null
  }
}

const UNFINISHED = new Set<unknown>(['queued', 'in_progress'])

const partsOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isObject) : [])

function emitUsage(value: unknown, uses: Pick<Usage, 'webSearches' | 'codeExecutions'>, emit: Emit): void {
  if (!isObject(value)) return
  const { input_tokens: promptTokens, output_tokens: completionTokens } = value
  if (typeof promptTokens !== 'number' || typeof completionTokens !== 'number') return
  const { input_tokens_details: read, output_tokens_details: written } = value
  const cachedTokens = isObject(read) ? read.cached_tokens : 0
  const reasoningTokens = isObject(written) ? count(written.reasoning_tokens) : 0
  emit([
    'usage',
    { promptTokens, completionTokens, ...promptParts({ cachedTokens, ...uses }) },
    reasoningTokens,
  ])
}

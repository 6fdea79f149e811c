import { NativeEvents, nativeBlocks, nativeStop } from '../../core/calls/chat-to-messages-events.ts'
import type { Delta } from '../../core/calls/completion.ts'
import type { FinishFrame, ReportedUsage } from '../../core/calls/frames.ts'
import { isToolCall, type NativeBlock, type NativeEvent } from '../../core/calls/messages-wire.ts'
import type { Usage } from '../../core/calls/usage.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../../core/json/json-text.ts'
import type { ApiError } from '../../core/kernel/errors.ts'
import type { CompletionHead, ResponseFormat, StreamRenderer } from './completion-writer.ts'
import { messagesError } from './messages-error.ts'
import type { SealReasoning } from './reasoning-box.ts'

/** The format of the messages wire. @param seal for the reasoning of other wires, which comes back as its signature */
export const messagesFormat = (seal: SealReasoning): ResponseFormat => ({
  stream: (head) => new EventRenderer(head, seal),
  whole: (head, [, , message, reason, usage, stop]) =>
    JSON.stringify({
      ...messageHead(head),
      content: (message.native ?? nativeBlocks(message, seal)).map(wholeBlock),
      ...(stop ?? nativeStop(reason, message.tool_calls !== undefined)),
      usage: usageBody(usage),
    }),
})

/** The id of a call as the id of a message. */
const messageId = (callId: CompletionHead['id']): string => callId.replace('chatcmpl_', 'msg_')

const messageHead = ({ id, model }: CompletionHead) => ({
  id: messageId(id),
  type: 'message',
  role: 'assistant',
  model,
})

const UNSTOPPED = { stop_reason: null, stop_sequence: null }

/** The wire counts tokens that were read from the prompt cache or written to it separately from the prompt's other tokens. */
function usageBody(usage: ReportedUsage | null): object {
  const { promptTokens = 0, completionTokens = 0, cachedTokens = 0, cacheWriteTokens = 0 } = usage ?? {}
  const { cacheWriteHourTokens: hour, webSearches, tier } = usage ?? {}
  return {
    input_tokens: promptTokens - cachedTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    ...(hour !== undefined && {
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWriteTokens - hour,
        ephemeral_1h_input_tokens: hour,
      },
    }),
    ...(webSearches !== undefined && { server_tool_use: { web_search_requests: webSearches } }),
    // What this wire calls the usual tier.
    ...(tier && { service_tier: tier === 'default' ? 'standard' : tier }),
  }
}

/** The block at the start of a stream's block. */
function openedBlock(block: NativeBlock): object {
  if (block.type === 'whole') return block.block
  if (!isToolCall(block)) return block
  const { json: _, ...known } = block
  return { ...known, input: {} }
}

const wholeBlock = (block: NativeBlock): object =>
  isToolCall(block) ? { ...openedBlock(block), input: readInput(block.json) } : openedBlock(block)

/** The input of a tool call; empty if it is incomplete, which the stop reason shows. */
function readInput(json: string): object {
  try {
    const input: unknown = JSON.parse(json)
    const isInput = typeof input === 'object' && input !== null && !Array.isArray(input)
    return isInput && !isNestedDeeperThan(input, MAX_NESTING) ? input : {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

/** Renders the named events of one stream. */
class EventRenderer implements StreamRenderer {
  readonly keepAlive = event('ping')
  readonly #head: CompletionHead
  /** Of a completion of another wire. */
  readonly #converted: NativeEvents
  #isStarted = false

  constructor(head: CompletionHead, seal: SealReasoning) {
    this.#head = head
    this.#converted = new NativeEvents(seal)
  }

  delta(delta: Delta): string {
    switch (delta[0]) {
      case 'native':
        return this.#event(delta[1])
      case 'hosted':
        throw new Error('a message got what a tool of the responses wire does')
      case 'result':
        throw new Error('a message got the result of another kind of call')
      default:
        return this.#events(this.#converted.add(delta))
    }
  }

  finish([, reason, usage, stop = nativeStop(reason, this.#converted.callsTools)]: FinishFrame): string {
    const ended = this.#start(usage) + this.#events(this.#converted.end())
    return ended + event('message_delta', { delta: stop, usage: usageBody(usage) }) + event('message_stop')
  }

  #events = (events: readonly NativeEvent[]): string => events.map((native) => this.#event(native)).join('')

  #event(native: NativeEvent): string {
    if (native.type === 'message_start') return this.#start(native.usage)
    const { type, ...fields } = native
    const shown =
      'content_block' in fields ? { ...fields, content_block: openedBlock(fields.content_block) } : fields
    return this.#start(null) + event(type, shown)
  }

  /** Sends no `message_stop`, so that the client notices the truncation. */
  error(error: ApiError, requestId: string): string {
    const { type: _, ...body } = messagesError(error, requestId) as { type: string }
    return event('error', body)
  }

  #start(usage: Usage | null): string {
    if (this.#isStarted) return ''
    this.#isStarted = true
    const message = { ...messageHead(this.#head), content: [], ...UNSTOPPED, usage: usageBody(usage) }
    return event('message_start', { message })
  }
}

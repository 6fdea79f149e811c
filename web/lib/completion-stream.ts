/** The content of one event of a completion's stream. */
export type StreamPart = { callId: string | null } & (
  | { kind: 'text' | 'reasoning'; text: string }
  | { kind: 'tool-calls'; calls: ToolCallPiece[] }
  | { kind: 'finish'; reason: string }
  | { kind: 'usage'; usage: StreamUsage }
  | { kind: 'error'; message: string; code: string }
  | { kind: 'done' }
)

/** Pieces of the same index make up one call: the first has its id and name, all of them parts of its arguments. */
export interface ToolCallPiece {
  index: number
  id?: string
  name?: string
  arguments: string
}

export interface StreamUsage {
  promptTokens: number
  completionTokens: number
  /** What the call was charged, a decimal string; null: the stream does not say. */
  costUsd: string | null
}

/** No event of the gateway comes near this; more without a line's end is no stream of events. */
const LINE_CHARACTERS_MAX = 4_000_000

/**
 * Reads a stream of completion chunks. Bytes may be cut anywhere, also within a character. Throws Error on an
 * event that is not JSON. A stream that ends without `done` or `error` was cut off: the caller must report that.
 */
export async function* readCompletionStream(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<StreamPart> {
  for await (const data of readEvents(bytes)) {
    if (data === '[DONE]') {
      yield { kind: 'done', callId: null }
      return
    }
    yield* chunkParts(JSON.parse(data))
  }
}

/** The data of each event. Lines may end with LF, CR LF or CR; comments and other fields are skipped. */
async function* readEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  for await (const piece of bytes) {
    rest += decoder.decode(piece, { stream: true })
    // A carriage return at the very end may be half of a line's end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    if (rest.length > LINE_CHARACTERS_MAX) throw new Error('the stream is not one of events')
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
      if (line !== '' || data.length === 0) continue
      yield data.join('\n')
      data = []
    }
  }
}

interface Chunk {
  id?: string
  choices?: Array<{ delta?: ChunkDelta; finish_reason?: string | null }>
  usage?: { prompt_tokens?: number; completion_tokens?: number; cost_usd?: string } | null
  error?: { message?: string; code?: string }
}

interface ChunkDelta {
  content?: string | null
  reasoning?: string | null
  refusal?: string | null
  tool_calls?: Array<{ index?: number; id?: string; function?: { name?: string; arguments?: string } }>
}

function* chunkParts(chunk: Chunk): Generator<StreamPart> {
  const callId = chunk.id ?? null
  const choice = chunk.choices?.[0]
  const { content, reasoning, refusal, tool_calls: calls } = choice?.delta ?? {}
  if (reasoning) yield { kind: 'reasoning', text: reasoning, callId }
  // A refusal is what the model says instead.
  const text = content || refusal
  if (text) yield { kind: 'text', text, callId }
  if (calls?.length) yield { kind: 'tool-calls', calls: calls.map(toPiece), callId }
  if (chunk.error) {
    const { message = 'The completion broke off.', code = 'unknown' } = chunk.error
    yield { kind: 'error', message, code, callId }
    return
  }
  if (choice?.finish_reason) yield { kind: 'finish', reason: choice.finish_reason, callId }
  const usage = usageOf(chunk)
  if (usage) yield { kind: 'usage', usage, callId }
}

type ChunkCall = NonNullable<ChunkDelta['tool_calls']>[number]

const toPiece = ({ index = 0, id, function: named }: ChunkCall): ToolCallPiece => ({
  index,
  ...(id !== undefined && { id }),
  ...(named?.name !== undefined && { name: named.name }),
  arguments: named?.arguments ?? '',
})

function usageOf({ usage }: Chunk): StreamUsage | null {
  if (usage?.prompt_tokens === undefined || usage.completion_tokens === undefined) return null
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    costUsd: usage.cost_usd ?? null,
  }
}

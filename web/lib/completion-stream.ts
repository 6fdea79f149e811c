/** The content of one event of a completion's stream. */
export type StreamPart =
  | { kind: 'text'; text: string; callId: string | null }
  | { kind: 'finish'; reason: string; usage: StreamUsage | null; callId: string | null }
  | { kind: 'error'; message: string; code: string; callId: string | null }
  | { kind: 'done' }

export interface StreamUsage {
  promptTokens: number
  completionTokens: number
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
      yield { kind: 'done' }
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
  choices?: Array<{ delta?: { content?: string | null }; finish_reason?: string | null }>
  usage?: { prompt_tokens?: number; completion_tokens?: number } | null
  error?: { message?: string; code?: string }
}

function* chunkParts(chunk: Chunk): Generator<StreamPart> {
  const callId = chunk.id ?? null
  const choice = chunk.choices?.[0]
  const text = choice?.delta?.content
  if (text) yield { kind: 'text', text, callId }
  if (chunk.error) {
    const { message = 'The completion broke off.', code = 'unknown' } = chunk.error
    yield { kind: 'error', message, code, callId }
  } else if (choice?.finish_reason) {
    yield { kind: 'finish', reason: choice.finish_reason, usage: usageOf(chunk), callId }
  }
}

function usageOf({ usage }: Chunk): StreamUsage | null {
  if (usage?.prompt_tokens === undefined || usage.completion_tokens === undefined) return null
  return { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens }
}

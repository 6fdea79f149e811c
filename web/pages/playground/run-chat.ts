import { failureOf, jsonBody, messageOf, path, reach } from '../../api/request.ts'
import { readCompletionStream } from '../../lib/completion-stream.ts'
import { type Completion, withPart } from '../../lib/playground/completion.ts'

type Update = (change: (completion: Completion) => Completion) => void

/** The surface that conversations are made with: the stable one has neither tool loops nor the cost of a call. */
export const CHAT_SURFACE = 'chat-completions.extended'
export const CHAT_PATH = '/v2/chat/completions'

/** Makes one call and reports how far it is. Never throws: what goes wrong is in the completion. */
export async function runChat(
  keyId: string,
  body: Record<string, unknown>,
  signal: AbortSignal,
  update: Update,
): Promise<void> {
  const startedAt = performance.now()
  const elapsed = () => performance.now() - startedAt
  const end = (change: Partial<Completion>) => {
    const durationMs = elapsed()
    update((completion) => ({ ...completion, durationMs, ...change }))
  }
  try {
    const response = await askPlayground(CHAT_SURFACE, keyId, { ...jsonBody(body), signal })
    const callId = response.headers.get('x-call-id')
    const afforded = response.headers.get('x-completion-limit')
    update((completion) => ({
      ...completion,
      callId,
      ...(afforded !== null && { affordedLimit: Number(afforded) }),
    }))
    if (!response.ok) throw await failureOf(response)
    let isWhole = false
    for await (const part of readCompletionStream(bytesOf(response))) {
      const elapsedMs = elapsed()
      update((completion) => withPart(completion, part, elapsedMs))
      if (part.kind === 'done') isWhole = true
      if (part.kind === 'error') return end({ phase: 'failed' })
    }
    end(isWhole ? { phase: 'done' } : { phase: 'failed', error: BROKEN })
  } catch (error) {
    if (signal.aborted) end({ phase: 'stopped' })
    // A stream that breaks off is a TypeError in browsers, and a cut event a SyntaxError.
    else end({ phase: 'failed', error: error instanceof TypeError ? BROKEN : messageOf(error) })
  }
}

const BROKEN = 'The connection broke before the answer was complete.'

/** Not every browser lets a stream be iterated. */
async function* bytesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  if (!reader) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    reader.releaseLock()
  }
}

/** Calls a surface with one of the account's keys. The request log names the playground as where the call is from. */
export const askPlayground = (
  surface: string,
  keyId: string,
  { headers, ...init }: RequestInit,
): Promise<Response> =>
  reach(path`/console/api/playground/${surface}?key_id=${keyId}`, {
    method: 'POST',
    ...init,
    headers: { ...headers, 'x-title': 'Playground' },
  })

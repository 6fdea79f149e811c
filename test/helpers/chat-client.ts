import { type Caller, openEvents } from './open-events.ts'

export type { Caller }

const CHAT_PATH = '/v1/chat/completions'

/** The stable surface, or the one at this path. */
interface ChatCaller extends Caller {
  path?: string
}

/** A non-streaming answer. */
export interface WholeAnswer {
  status: number
  id: string | null
  text: string | null
  finishReason: string | null
  errorCode: string | null
}

/** What a stream has said so far, and how it ended. */
export interface StreamSoFar {
  status: number
  id: string | null
  /** As the latest chunk named it. */
  model: string | null
  text: string
  finishReason: string | null
  errorCode: string | null
  /** `[DONE]` came. */
  done: boolean
}

export interface OpenStream {
  readonly soFar: StreamSoFar
  /** Resolves when this much text has come; rejects when the stream ends before. */
  said(characters: number): Promise<void>
  /** Resolves when the connection is closed, however it ended. */
  end: Promise<StreamSoFar>
  hangUp(): void
}

const PROMPT = [{ role: 'user', content: 'Tell me about rail yards.' }]

/** Sends a non-streaming call and reads its whole answer. Rejects when the connection breaks. */
export async function ask(
  { url, key, path = CHAT_PATH }: ChatCaller,
  body: Record<string, unknown>,
  signal: AbortSignal | null = null,
): Promise<WholeAnswer> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: PROMPT, ...body }),
    signal,
  })
  const answer = JSON.parse(await response.text())
  return {
    status: response.status,
    id: answer.id ?? null,
    text: answer.choices?.[0].message.content ?? null,
    finishReason: answer.choices?.[0].finish_reason ?? null,
    errorCode: answer.error?.code ?? null,
  }
}

/** Opens a stream; resolves once its status is known. A connection that breaks is an ended stream, not an error. */
export async function stream(caller: ChatCaller, body: Record<string, unknown>): Promise<OpenStream> {
  const soFar: StreamSoFar = {
    status: 0,
    id: null,
    model: null,
    text: '',
    finishReason: null,
    errorCode: null,
    done: false,
  }
  const asked = { messages: PROMPT, ...body, stream: true }
  const open = await openEvents(caller, caller.path ?? CHAT_PATH, asked, ({ data }) => note(data, soFar))
  soFar.status = open.status
  const end = open.end.then((rest) => {
    if (soFar.status !== 200) soFar.errorCode = JSON.parse(rest).error.code
    return soFar
  })
  return {
    soFar,
    end,
    said: (characters) => open.until(() => soFar.text.length >= characters),
    hangUp: open.hangUp,
  }
}

/** Sends a streaming call and reads it to its end. */
export const streamed = async (caller: ChatCaller, body: Record<string, unknown>): Promise<StreamSoFar> =>
  (await stream(caller, body)).end

function note(data: string, soFar: StreamSoFar): void {
  if (data === '[DONE]') {
    soFar.done = true
    return
  }
  const chunk = JSON.parse(data)
  soFar.id ??= chunk.id
  soFar.model = chunk.model
  soFar.errorCode ??= chunk.error?.code ?? null
  soFar.text += chunk.choices[0]?.delta?.content ?? ''
  soFar.finishReason ??= chunk.choices[0]?.finish_reason ?? null
}

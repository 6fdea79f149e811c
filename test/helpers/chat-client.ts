import { once } from 'node:events'
import { request } from 'node:http'

/** Who calls, and where. */
export interface Caller {
  url: string
  key: string
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
  { url, key }: Caller,
  body: Record<string, unknown>,
  signal: AbortSignal | null = null,
): Promise<WholeAnswer> {
  const response = await fetch(`${url}/v1/chat/completions`, {
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
export async function stream({ url, key }: Caller, body: Record<string, unknown>): Promise<OpenStream> {
  const outgoing = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  outgoing.end(JSON.stringify({ messages: PROMPT, ...body, stream: true }))
  const [response] = await once(outgoing, 'response')
  // A connection cut after the answer began shows as the end of the stream.
  outgoing.on('error', () => undefined)
  const soFar: StreamSoFar = {
    status: response.statusCode,
    id: null,
    model: null,
    text: '',
    finishReason: null,
    errorCode: null,
    done: false,
  }
  const waiting = new Set<() => void>()
  let closed = false
  let unread = ''
  response.setEncoding('utf8')
  response.on('data', (data: string) => {
    const events = (unread + data).split('\n\n')
    unread = events.pop()!
    for (const event of events) note(event, soFar)
    for (const look of waiting) look()
  })
  response.on('error', () => undefined)
  const closing = new Promise((resolve) => response.on('close', resolve))
  const end = closing.then(() => {
    if (soFar.status !== 200) soFar.errorCode = JSON.parse(unread).error.code
    closed = true
    for (const look of waiting) look()
    return soFar
  })
  return {
    soFar,
    end,
    said: (characters) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (soFar.text.length < characters && !closed) return
          waiting.delete(look)
          if (soFar.text.length >= characters) resolve()
          else reject(new Error(`the stream ended after ${soFar.text.length} characters`))
        }
        waiting.add(look)
        look()
      }),
    hangUp: () => outgoing.destroy(),
  }
}

/** Sends a streaming call and reads it to its end. */
export const streamed = async (caller: Caller, body: Record<string, unknown>): Promise<StreamSoFar> =>
  (await stream(caller, body)).end

function note(event: string, soFar: StreamSoFar): void {
  if (!event.startsWith('data: ')) return
  if (event === 'data: [DONE]') {
    soFar.done = true
    return
  }
  const chunk = JSON.parse(event.slice('data: '.length))
  soFar.id ??= chunk.id
  soFar.model = chunk.model
  soFar.errorCode ??= chunk.error?.code ?? null
  soFar.text += chunk.choices[0]?.delta?.content ?? ''
  soFar.finishReason ??= chunk.choices[0]?.finish_reason ?? null
}

import { request as httpRequest } from 'node:http'

export interface WireReply {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** The network chunks as they came. */
  chunks: Buffer[]
  /** Whether the body came to its proper end. */
  complete: boolean
}

export interface WireCall {
  url: string
  provider?: string
  model: string
  prompt?: string
  body?: Record<string, unknown>
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Sees the text so far after every chunk. */
  onText?: (text: string) => void
}

/** Calls a simulated provider with plain node:http, so that a test sees the very bytes. */
export function callProvider({ url, provider = 'alpha', model, prompt = 'Hello', ...rest }: WireCall) {
  const body = { model, messages: [{ role: 'user', content: prompt }], stream: true, ...rest.body }
  return new Promise<WireReply>((resolve, reject) => {
    let answered = false
    const request = httpRequest(
      `${url}/${provider}/v1/chat/completions`,
      {
        method: 'POST',
        agent: false,
        headers: { 'content-type': 'application/json', ...rest.headers },
        ...(rest.signal && { signal: rest.signal }),
      },
      (response) => {
        answered = true
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          rest.onText?.(Buffer.concat(chunks).toString())
        })
        response.on('error', () => undefined)
        response.on('close', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
            chunks,
            complete: response.complete,
          }),
        )
      },
    )
    // Once headers have arrived, a break shows as `complete` being false.
    request.on('error', (error) => {
      if (!answered) reject(error)
    })
    request.end(JSON.stringify(body))
  })
}

/** The data of every event but the last `[DONE]`. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into arbitrary provider JSON.
export const eventsOf = (text: string): Array<Record<string, any>> =>
  text
    .split(/\r?\n\r?\n/)
    .filter((event) => event.startsWith('data: ') && event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.slice('data: '.length)))

/** The answer's text, put together from its deltas. */
export const textOf = (text: string): string =>
  eventsOf(text)
    .map((event) => event.choices?.[0]?.delta?.content ?? '')
    .join('')

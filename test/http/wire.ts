import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'
import type { TestStack } from '../helpers/stack.ts'

export const CHAT_PATH = '/v1/chat/completions'

/** A prompt that no simulated tool or fault is named in. */
export const MESSAGES = [{ role: 'user', content: 'Tell me about rail yards.' }]

export interface CallOptions {
  headers?: Record<string, string>
  signal?: AbortSignal
  url?: string
}

export type Call = (body: Record<string, unknown>, options?: CallOptions) => Promise<Response>

/** A client of the chat-completions endpoint; `messages` are filled in where the body has none. */
export const caller =
  (stack: TestStack, by: { key: string }): Call =>
  (body, { headers = {}, signal, url = stack.url } = {}) =>
    fetch(url + CHAT_PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${by.key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ messages: MESSAGES, ...body }),
      signal: signal ?? null,
    })

export interface Chunk {
  id: string
  object: string
  created: number
  model: string
  choices: Array<{ index: number; delta: Record<string, unknown>; finish_reason: string | null }>
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
  error?: { message: string; type: string; param: string | null; code: string; request_id: string }
}

export interface Completion {
  id: string
  object: string
  created: number
  model: string
  choices: Array<{
    index: number
    message: { role: string; content: string | null; refusal?: string; tool_calls?: unknown[] }
    finish_reason: string
  }>
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

/** Reads the answer of a call that does not stream. */
export async function completionOf(response: Response): Promise<Completion> {
  const text = await response.text()
  expect({ status: response.status, body: text }).toMatchObject({ status: 200 })
  return JSON.parse(text) as Completion
}

/** The text of such an answer. */
export const textOf = async (response: Response): Promise<string | null> =>
  (await completionOf(response)).choices[0]!.message.content

export interface ReadStream {
  chunks: Chunk[]
  comments: string[]
  /** All of the text. */
  content: string
  isDone: boolean
  /** The last chunk. */
  last: Chunk
}

/** Reads the whole body of a stream strictly: data-only events, comments, nothing else. */
export function readStream(text: string): ReadStream {
  const events = text.split('\n\n')
  expect(events.pop(), 'the last event ends').toBe('')
  const comments = events.filter((event) => event.startsWith(':'))
  const data = events.filter((event) => !event.startsWith(':'))
  for (const event of data) expect(event).toMatch(/^data: [^\n]*$/)
  const isDone = data.at(-1) === 'data: [DONE]'
  const chunks = (isDone ? data.slice(0, -1) : data).map((event) => JSON.parse(event.slice(6)) as Chunk)
  const content = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
  return { chunks, comments, content, isDone, last: chunks.at(-1)! }
}

export interface ErrorBody {
  error: {
    message: string
    type: string
    param: string | null
    code: string
    request_id: string
    metadata?: Record<string, string | number>
  }
}

/** Checks a refusal's status, code and exact body shape, and returns its error. */
export async function expectError(
  response: Response,
  status: number,
  code: string,
): Promise<ErrorBody['error']> {
  return expectErrorText(response, await response.text(), status, code)
}

/** The same for an answer whose body was read already. */
export function expectErrorText(
  response: Response,
  text: string,
  status: number,
  code: string,
): ErrorBody['error'] {
  expect({ status: response.status, body: text }).toMatchObject({ status })
  const { error, ...others } = JSON.parse(text) as ErrorBody
  expect(others).toEqual({})
  const { metadata: _metadata, ...fields } = error
  expect(fields).toEqual({
    message: expect.stringMatching(/\S/),
    type: expect.stringMatching(/_error$/),
    param: error.param === null ? null : expect.any(String),
    code,
    request_id: response.headers.get('x-request-id'),
  })
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  return error
}

/** The record of a settled call, by the request id it was answered with. */
export async function recordOf(stack: TestStack, response: Response) {
  const requestId = response.headers.get('x-request-id') ?? ''
  return stack.postgres.callRecord.findFirstOrThrow({ where: { requestId } })
}

/** Sends bytes over a connection of its own and reads until the server closes it. */
export async function rawExchange(url: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const pieces: Buffer[] = []
  socket.on('data', (piece) => pieces.push(piece))
  // A server that refuses a long request may close while bytes are still on their way.
  socket.on('error', () => socket.destroy())
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(pieces).toString('utf8')
}

/** The bytes of one HTTP request after which the connection closes. */
export function rawRequest(key: string, body: unknown): string {
  const text = JSON.stringify(body)
  return (
    `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  )
}

/** Checks an answer that came over a bare connection: its status and its error body. */
export function expectRawError(answer: string, status: number, code: string): void {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  const { error } = JSON.parse(body) as ErrorBody
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'request_id', 'type'])
  expect(error).toMatchObject({ code, param: null })
  expect(head.toLowerCase()).toContain(`x-request-id: ${error.request_id}`)
}

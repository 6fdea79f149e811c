import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type ConsoleClient, signedUp } from '../helpers/console-client.ts'
import type { TestStack } from '../helpers/stack.ts'

/** Where attacks come from: bounds by address are to hit them alone. */
const HOSTILE_ADDRESS = '127.0.0.66'

/** Somebody who signed up, has the free credit and the limits that everybody has, and means harm. */
export interface HostileCaller {
  key: string
  client: ConsoleClient
  cookie: string
  /** Sends a call with a body as it is, by default with `key`; resolves to the status once the answer has been read. */
  post(body: Buffer | string, as?: string): Promise<number>
  /** Opens a stream, and resolves to its answer when that begins. */
  stream(body: string): Promise<IncomingMessage>
}

export async function hostileCaller(stack: TestStack): Promise<HostileCaller> {
  const client = await signedUp(stack.url)
  const { secret: key } = await client.json<{ secret: string }>('/console/api/keys', { body: { name: '' } })
  const call = (body: Buffer | string, as = key) =>
    send(`${stack.url}/v1/chat/completions`, {
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      body,
    })
  return {
    key,
    client,
    cookie: [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    post: async (body, as) => statusOf(await call(body, as).catch(() => null)),
    stream: call,
  }
}

export interface SentRequest {
  headers: Record<string, string>
  /** Makes it a POST. */
  body?: Buffer | string
  address?: string
}

/** Sends one request from the hostile address, or another of ours, on a connection of its own. */
export async function send(
  url: string,
  { headers, body, address = HOSTILE_ADDRESS }: SentRequest,
): Promise<IncomingMessage> {
  const outgoing = request(url, {
    method: body === undefined ? 'GET' : 'POST',
    agent: false,
    localAddress: address,
    headers: { ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
  })
  outgoing.end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  // A connection that is cut after the answer began is the end of the answer.
  outgoing.on('error', () => undefined)
  response.on('error', () => undefined)
  return response
}

/** Reads an answer to its end. 0: the gateway cut the connection before it answered. */
export async function statusOf(response: IncomingMessage | null): Promise<number> {
  if (response === null) return 0
  response.resume()
  await closed(response)
  return response.statusCode ?? 0
}

/** An answer that is cut ends with an error before it closes, which `once` would reject with. */
const closed = (response: IncomingMessage) => new Promise((resolve) => response.once('close', resolve))

/** Reads so many bytes of an answer, or what there is, and hangs up. */
export async function readSome(response: IncomingMessage, bytes: number): Promise<void> {
  let read = 0
  response.on('data', (data: Buffer) => {
    read += data.length
    if (read > bytes) response.destroy()
  })
  await closed(response)
}

/** A connection that has sent some bytes, whose client closes nothing by itself. Line ends are made CRLF. */
export async function connection(url: string, head: string, body = ''): Promise<Socket> {
  const port = Number(new URL(url).port)
  const socket = connect({ port, host: '127.0.0.1', localAddress: HOSTILE_ADDRESS, allowHalfOpen: true })
  socket.on('error', () => socket.destroy())
  await once(socket, 'connect')
  socket.write(head.replaceAll('\n', '\r\n') + body)
  return socket
}

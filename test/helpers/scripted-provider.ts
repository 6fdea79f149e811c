import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Offer } from '../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../src/core/kernel/money.ts'

export interface ReceivedRequest {
  path: string
  headers: IncomingMessage['headers']
  body: Record<string, unknown>
}

export type Script = (response: ServerResponse, request: ReceivedRequest) => void | Promise<void>

export interface ScriptedProvider {
  baseUrl: string
  requests: ReceivedRequest[]
  /** What the next requests get, in order; the last one repeats. */
  play(...scripts: Script[]): void
  /** Resolves when the present or next answer's connection is closed before the answer's end. */
  aborted(): Promise<void>
  /** TCP connections accepted so far. */
  connections: () => number
  close(): Promise<void>
}

/** A provider of one test, on loopback, that answers as the test says. */
export async function startScriptedProvider(): Promise<ScriptedProvider> {
  let scripts: Script[] = []
  let connections = 0
  const events = new EventEmitter()
  const requests: ReceivedRequest[] = []
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const request: ReceivedRequest = {
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: JSON.parse(Buffer.concat(chunks).toString()),
    }
    requests.push(request)
    response.on('close', () => {
      if (!response.writableEnded) events.emit('aborted')
    })
    const script = scripts.length > 1 ? scripts.shift()! : scripts[0]!
    events.emit('request')
    await script(response, request)
  })
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    play(...next) {
      scripts = next
    },
    aborted: async () => void (await once(events, 'aborted')),
    connections: () => connections,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** An offer at a scripted provider. */
export function offerAt(baseUrl: string, changes: Partial<Offer> = {}, id = 'acme/large-1'): Offer {
  const [providerId = 'acme', upstreamModel = 'large-1'] = id.split('/')
  return {
    id,
    provider: {
      id: providerId,
      name: providerId,
      wire: 'chat-completions',
      baseUrl,
      apiKeyEnv: 'ACME_API_KEY',
      zdr: true,
      dataCollection: 'deny',
      limitParameter: 'max_tokens',
    },
    upstreamModel,
    cost: { prompt: picoUsdPerToken(1_000_000n), completion: picoUsdPerToken(2_000_000n) },
    shared: true,
    priority: 100,
    exactTools: false,
    assistantPrefill: false,
    ...changes,
  }
}

/** One event of a chat-completions stream. */
export const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

export const textEvent = (content: string): string => event({ choices: [{ index: 0, delta: { content } }] })

export const finishEvent = (reason = 'stop'): string =>
  event({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })

export const usageEvent = (prompt: number, completion: number): string =>
  event({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } })

export const DONE = 'data: [DONE]\n\n'

/** A whole, well-behaved stream of some texts. */
export const wholeStream = (...texts: string[]): string =>
  event({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }) +
  texts.map(textEvent).join('') +
  finishEvent() +
  usageEvent(7, 11) +
  DONE

/** A script that answers with an event stream and ends it. */
export const streams = (body: string): Script => {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(body)
  }
}

/** A script that streams something and then leaves the connection open. */
export const streamsOpenEnded = (body: string): Script => {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(body)
  }
}

/** A script that streams something and then breaks the connection. */
export const streamsAndBreaks = (body: string): Script => {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(body, () => response.socket?.destroy())
  }
}

/** A script that refuses. */
export const refuses = (
  status: number,
  error: unknown = null,
  headers: Record<string, string> = {},
): Script => {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error }))
  }
}

/** A script that takes the request and never answers. */
export const hangs: Script = () => undefined

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RailRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: string
}

export interface RailAnswer {
  status?: number
  body: unknown
}

export interface FakeRailServer {
  url: string
  requests: RailRequest[]
  /** Until it is called with false, every request is answered with a 500. */
  breakDown(broken: boolean): void
  close(): Promise<void>
}

/** An API of a payment company on loopback: one handler, JSON out, requests kept. */
export async function startFakeRailServer(
  handle: (request: RailRequest) => RailAnswer | null | Promise<RailAnswer | 'no answer' | null>,
): Promise<FakeRailServer> {
  const requests: RailRequest[] = []
  let broken = false
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const request = {
      method: incoming.method ?? '',
      path: (incoming.url ?? '').split('?')[0] ?? '',
      query: new URLSearchParams((incoming.url ?? '').split('?')[1] ?? ''),
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString(),
    }
    requests.push(request)
    const answer = broken ? { status: 500, body: { error: { message: 'down' } } } : await handle(request)
    if (answer === 'no answer') return
    const { status = 200, body } = answer ?? { status: 404, body: { error: { message: 'no such thing' } } }
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    breakDown(now) {
      broken = now
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

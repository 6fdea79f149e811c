import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedWebhook {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** Answers a webhook; the index counts from 0. The default answers 204. */
export type AnswerWebhook = (response: ServerResponse, index: number, webhook: ReceivedWebhook) => void

export interface WebhookReceiver {
  /** `http://127.0.0.1:<port>/hook` */
  url: string
  port: number
  received: ReceivedWebhook[]
  answer: AnswerWebhook
  /** Resolves once this many webhooks have arrived in all. */
  count(wanted: number): Promise<ReceivedWebhook[]>
  close(): Promise<void>
}

const WAIT_MS = 60_000

/** A customer's server, as far as webhooks go: keeps what it gets and answers as it is told. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const waiting = new Set<() => void>()
  let answer: AnswerWebhook = (response) => response.writeHead(204).end()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const webhook = { path: request.url ?? '', headers: request.headers, body }
    const index = receiver.received.push(webhook) - 1
    answer(response, index, webhook)
    for (const look of waiting) look()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received: [],
    get answer() {
      return answer
    },
    set answer(next) {
      answer = next
    },
    count(wanted) {
      const { promise, resolve, reject } = Promise.withResolvers<ReceivedWebhook[]>()
      const look = () => {
        if (receiver.received.length >= wanted) resolve(receiver.received)
      }
      const timer = setTimeout(
        () => reject(new Error(`${receiver.received.length} of ${wanted} webhooks arrived`)),
        WAIT_MS,
      )
      waiting.add(look)
      look()
      return promise.finally(() => {
        clearTimeout(timer)
        waiting.delete(look)
      })
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}

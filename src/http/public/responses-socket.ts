import { request as httpRequest, type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import { LRUCache } from 'lru-cache'
import { WebSocketServer } from 'ws'
import { ApiError } from '../../core/kernel/errors.ts'
import { whenResponseCloses } from '../calls/event-stream.ts'
import { connectInMemory } from '../memory-connection.ts'
import { callingKey, mayCall } from '../plugins/authenticate.ts'
import { SWITCHED } from '../plugins/observe-requests.ts'
import { isForSocket } from '../plugins/unrouted-requests.ts'
import { createSlots } from '../slots.ts'
import { type ConnectionLimits, ResponsesConnection, type RunningTurn } from './responses-connection.ts'
import type { KeptConversations, KeptTurns } from './responses-conversation.ts'

/**
 * GET /v2/responses as a WebSocket: each message is a turn, and each event of its response a message. A turn is a POST to
 * the same path of this server, over a connection in memory, so that keys, limits, charges and events are those of HTTP.
 */

const PATH = '/v2/responses'
const CONNECTIONS_MAX = 1_000
const CONNECTIONS_PER_ACCOUNT_MAX = 100
/** Unstored turns of all connections of this instance; those that were used least recently give way. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024

const LOOK_EVERY_MS = 10_000
/** Until a client confirms that its connection closes. */
const CLOSE_TIMEOUT_MS = 2_000

export interface ResponsesSocketOptions {
  limits: ConnectionLimits & { bodyLimitBytes: number }
}

/** @param limits those of requests and their bodies */
export const responsesSocket = plugin<ResponsesSocketOptions>(
  async (app, { limits }) => {
    const { clock, logger } = app.calls
    const heads = new WeakMap<IncomingMessage, Buffer>()
    const connections = new Set<ResponsesConnection>()
    const kept: KeptConversations = new LRUCache<object, KeptTurns>({
      maxSize: KEPT_BYTES_MAX,
      sizeCalculation: ({ items }) => 2 * items.length + 1,
    })
    const slots = createSlots({
      max: CONNECTIONS_MAX,
      maxPerHolder: CONNECTIONS_PER_ACCOUNT_MAX,
      holderIsFull: 'This account has as many WebSockets open as it may. Close one.',
      allTaken: 'This gateway has as many WebSockets open as it can. Use HTTP, or retry shortly.',
    })
    const options = { noServer: true, clientTracking: false, maxPayload: limits.bodyLimitBytes }
    const sockets = new WebSocketServer(Object.assign(options, { closeTimeout: CLOSE_TIMEOUT_MS }))

    // Node ignores other upgrades, such as those to HTTP/2, as before.
    Object.assign(app.server, {
      shouldUpgradeCallback: ({ headers }: IncomingMessage) => isForSocket(headers),
    })
    app.server.on('upgrade', (raw: IncomingMessage, socket: Socket, head: Buffer) => {
      heads.set(raw, head)
      // Refusals are written by this response; it closes with the connection.
      const response = new ServerResponse(raw)
      response.shouldKeepAlive = false
      response.assignSocket(socket)
      response.once('finish', () => socket.destroySoon())
      socket.on('error', () => socket.destroy())
      app.server.emit('request', raw, response)
    })

    app.get(
      PATH,
      {
        config: { takesSocket: true },
        exposeHeadRoute: false,
        onRequest: [app.requireKey, app.requireSurface('responses.extended'), mayCall, app.weighBody],
        schema: { hide: true },
      },
      async (request, reply) => {
        const head = heads.get(request.raw)
        if (head === undefined) {
          reply.header('allow', 'POST')
          throw new ApiError('method_not_allowed', `Use POST ${PATH}, or connect with a WebSocket.`)
        }
        whenResponseCloses(reply.raw, slots.take(callingKey(request).accountId))
        reply.hijack()
        sockets.handleUpgrade(request.raw, request.raw.socket, head, (socket) => {
          reply.raw.statusCode = SWITCHED
          const connection = new ResponsesConnection(socket, {
            ask: (body) => post(request, body),
            reserve: () => app.reserveBody(request),
            ...{ kept, clock, limits, logger },
          })
          connections.add(connection)
          socket.once('close', () => connections.delete(connection))
          // Before the WebSocket reads them.
          request.raw.socket.prependListener('data', (bytes: Buffer) => connection.arrived(bytes.length))
        })
      },
    )

    const timer = setInterval(() => {
      for (const connection of connections) connection.look()
    }, LOOK_EVERY_MS).unref()
    app.addHook('preClose', async () => {
      clearInterval(timer)
      for (const connection of connections) connection.retire()
    })
  },
  { name: 'responses-socket', dependencies: ['authenticate', 'surface-access', 'weigh-bodies'] },
)

/** Headers of an upgrade that are not those of its turns. */
const OF_THE_UPGRADE =
  /^(connection|upgrade|sec-websocket-.*|content-.*|transfer-encoding|accept.*|expect|x-request-id|idempotency-key)$/

/** Asks for a turn. */
function post({ raw, server }: FastifyRequest, body: string): RunningTurn {
  const headers = Object.fromEntries(
    Object.entries(raw.headers).filter(([name]) => !OF_THE_UPGRADE.test(name)),
  )
  const asked = httpRequest({
    createConnection: () => connectInMemory(server.server, raw.socket),
    method: 'POST',
    path: PATH,
    headers: {
      ...headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  })
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve)
    asked.on('error', reject)
  })
  asked.end(body)
  return { response, abandon: () => asked.destroy() }
}

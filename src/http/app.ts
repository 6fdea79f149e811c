import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import type { Registry } from 'prom-client'
import { newRequestId } from '../core/kernel/ids.ts'
import { clientNetworks } from '../platform/network/client-networks.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Readiness } from '../platform/observability/readiness.ts'
import type { WorkCounts } from '../platform/observability/traffic-counts.ts'
import { whenResponseCloses } from './calls/event-stream.ts'
import { accessLog } from './plugins/access-log.ts'
import { type AuthenticateOptions, authenticate } from './plugins/authenticate.ts'
import type { CrossOriginOptions } from './plugins/cross-origin.ts'
import { messagesWire } from './plugins/messages-wire.ts'
import { type ObserveRequestsOptions, observeRequests } from './plugins/observe-requests.ts'
import {
  guardRequests,
  type ParseJsonOptions,
  parseJson,
  validateRequests,
  type WeighBodiesOptions,
} from './plugins/read-requests.ts'
import { answerUnroutable, sendErrors } from './plugins/send-errors.ts'
import { createProxyTest, warnOfUntrustedProxy } from './plugins/trusted-proxies.ts'
import { unroutedRequests } from './plugins/unrouted-requests.ts'
import { healthRoutes } from './public/health.ts'
import { publicPathOf } from './public-path.ts'

/** The settings of the server and of what every request passes. */
type ServerSettings = AuthenticateOptions['limits'] &
  ParseJsonOptions['limits'] &
  WeighBodiesOptions['limits'] &
  CrossOriginOptions &
  Readonly<{
    publicUrl: string | null
    trustedProxies: string[]
    connectionsPerAddress: number
    bodyTimeoutMs: number
    unreadTimeoutMs: number
    shutdownGraceMs: number
    shutdownDelayMs: number
  }>

/** What the server itself needs. */
export interface AppDependencies {
  config: ServerSettings
  /** What routes take as `app.calls` and so on, and the server itself of it. */
  services: {
    accounts: { keyCache: AuthenticateOptions['keys'] }
    calls: Pick<ObserveRequestsOptions, 'refusals'> & { logger: Logger; clock: () => number }
  }
  /** Collects the schemas of the routes that are registered after it. */
  documentation: FastifyPluginAsync
  /** Whether the instance can take calls. */
  readiness: () => Promise<Readiness>
  /** Calls in flight. */
  pendingCalls: () => number
  /** Counts for Prometheus and for operators. */
  registry: Registry
  report: WorkCounts
  accessLogger: Logger | null
}

/** The settings that routes need. */
export interface RouteOptions extends CrossOriginOptions {
  limits: WeighBodiesOptions['limits'] & { bodyTimeoutMs: number }
  isSecure: boolean
  publicPath: string
}

const REQUEST_ID = /^[\x20-\x7e]{1,128}$/
const PLUGIN_NAME = Symbol.for('fastify.display-name')
const PARAM_LENGTH_MAX = 512
/** For requests other than calls: the longest is a catalog. */
const OTHER_BODY_LIMIT_BYTES = 8 * 1024 * 1024

/**
 * Builds the HTTP API, ready to listen, with the routes that `registerRoutes` adds. The registration order is the
 * request order.
 */
export async function buildApp(
  deps: AppDependencies,
  registerRoutes: (app: FastifyInstance, options: RouteOptions) => Promise<void>,
): Promise<FastifyInstance> {
  const { config: limits, services } = deps
  const { keyCache } = services.accounts
  const { logger, refusals, clock } = services.calls
  const { publicUrl, corsOrigins } = limits
  const publicPath = publicPathOf(publicUrl)
  const options = { ...deps, limits, logger, keys: keyCache, publicUrl, refusals, clock }
  const app = Fastify({
    logger: false,
    bodyLimit: OTHER_BODY_LIMIT_BYTES,
    requestTimeout: limits.bodyTimeoutMs,
    trustProxy: limits.trustedProxies.length > 0 ? limits.trustedProxies : false,
    // If the headers limit is longer, Node swaps the two, and would wait a minute for a body.
    http: {
      connectionsCheckingInterval: 1_000,
      headersTimeout: limits.bodyTimeoutMs,
      // Node would reject a request without one with an empty body; guardRequests rejects it with ours.
      requireHostHeader: false,
    },
    rewriteUrl: ({ url = '/' }) => {
      // A proxy in front may forward the base path or strip it.
      const path = publicPath !== '' && url.startsWith(`${publicPath}/`) ? url.slice(publicPath.length) : url
      // Clients of the messages wire append `/v1/messages` to their base address, which is `/v2`.
      return path.startsWith('/v2/v1/') ? path.replace('/v1', '') : path
    },
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId()
    },
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX, ignoreTrailingSlash: true },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: answerUnroutable,
  })
  // Node would respond to an unknown expectation with an empty 417; RFC 9110, 10.1.1, allows ignoring it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  namePlugins(app)
  await app.register(messagesWire)
  for (const [name, service] of Object.entries<object>(services)) app.decorate(name, service)
  await app.register(observeRequests, options)
  await app.register(accessLog, options)
  await app.register(warnOfUntrustedProxy, options)
  boundConnections(app, {
    perAddress: limits.connectionsPerAddress,
    trustedProxies: limits.trustedProxies,
    graceMs: Math.max(0, limits.shutdownGraceMs - limits.shutdownDelayMs),
    unreadMs: limits.unreadTimeoutMs,
  })
  await app.register(guardRequests)
  await app.register(sendErrors, options)
  await app.register(unroutedRequests)
  await app.register(parseJson, options)
  await app.register(validateRequests)
  await app.register(deps.documentation)
  await app.register(healthRoutes, options)
  await app.register(authenticate, options)
  const isSecure = publicUrl?.startsWith('https:') ?? false
  await registerRoutes(app, { limits, corsOrigins, publicPath, isSecure })
  return app
}

/** For a plugin without a name of its own, Fastify searches every module of the process, twice. */
function namePlugins(app: FastifyInstance): void {
  const register = app.register as unknown as Registers
  const named: Registers = function (plugin, options) {
    plugin[PLUGIN_NAME] ??= plugin.name || 'routes'
    return register.call(this, plugin, options)
  }
  app.register = named as unknown as FastifyInstance['register']
}

type Registers = (
  this: unknown,
  plugin: { name?: string; [PLUGIN_NAME]?: string },
  options?: object,
) => unknown

/** Responds to a request that broke before parsing: a slow body, or bytes that are not HTTP. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const timedOut = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const [status, type, code, message] = timedOut
    ? [
        '408 Request Timeout',
        'timeout_error',
        'request_timeout',
        'The request did not arrive in time. Retry it.',
      ]
    : tooLarge
      ? [
          '413 Content Too Large',
          'invalid_request_error',
          'request_too_large',
          'The request headers are too large.',
        ]
      : ['400 Bad Request', 'invalid_request_error', 'invalid_request', 'The request is not valid HTTP.']
  const requestId = newRequestId()
  const body = JSON.stringify({ error: { message, type, param: null, code, request_id: requestId } })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\nx-request-id: ${requestId}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  // A client that keeps its side open would keep the connection.
  socket.destroySoon()
}

interface BoundConnectionsOptions {
  /** Maximum open connections of one IPv4 address or IPv6 /64. */
  perAddress: number
  /** Proxies in front of the gateway, as addresses or networks; they carry many clients and limit them themselves. */
  trustedProxies: readonly string[]
  /** How long a client may leave a sent response unread. */
  unreadMs: number
  /** How long connections with a pending response may stay open once the server closes. */
  graceMs: number
}

/**
 * After the grace period, calls end with their real state: workers have a second to report it, and the last bytes
 * another to leave.
 */
const LAST_BYTES_MS = 2_500

/**
 * Limits the connections of one network, so that it cannot use up a process's file descriptors, and lets the server
 * close while clients keep connections open. Node closes connections that are idle between two requests, but a new one
 * without a request, or with half a request, would keep it open. Connections with a pending response close when it has
 * ended, all others at once, and the rest after the grace period.
 */
function boundConnections(
  app: FastifyInstance,
  { perAddress, trustedProxies, graceMs, unreadMs }: BoundConnectionsOptions,
): void {
  /** Open connections by network. */
  const open = new Map<string, number>()
  /** Pending responses by connection. */
  const answers = new Map<Socket, number>()
  const isProxy = createProxyTest(trustedProxies)
  let closing = false
  let timer: NodeJS.Timeout | undefined

  const exceedsLimit = (socket: Socket): boolean => {
    const { remoteAddress = '', remoteFamily } = socket
    if (isProxy(remoteAddress, remoteFamily)) return false
    const { subnet } = clientNetworks(remoteAddress)
    const count = open.get(subnet) ?? 0
    if (count >= perAddress) return true
    open.set(subnet, count + 1)
    socket.once('close', () => {
      const left = (open.get(subnet) ?? 1) - 1
      if (left === 0) open.delete(subnet)
      else open.set(subnet, left)
    })
    return false
  }

  app.server.on('connection', (socket: Socket) => {
    if (closing || exceedsLimit(socket)) {
      socket.destroy()
      return
    }
    answers.set(socket, 0)
    socket.once('close', () => answers.delete(socket))
  })
  app.server.on('request', ({ socket }, response) => {
    answers.set(socket, (answers.get(socket) ?? 0) + 1)
    // The timeout also runs while a response is prepared, so only unread written data counts.
    response.setTimeout(unreadMs, () => socket.writableLength > 0 && socket.destroy())
    whenResponseCloses(response, () => {
      const open = answers.get(socket)
      // Absent if the connection is closed already.
      if (open === undefined) return
      answers.set(socket, open - 1)
      if (closing && open === 1) socket.destroySoon()
    })
  })

  app.addHook('preClose', async () => {
    closing = true
    for (const [socket, open] of answers) if (open === 0) socket.destroy()
    timer = setTimeout(() => {
      for (const socket of answers.keys()) socket.destroy()
    }, graceMs + LAST_BYTES_MS)
  })
  app.addHook('onClose', async () => clearTimeout(timer))
}

import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import { pathUnknown } from '../../core/api/surfaces/surface-refusals.ts'
import { ApiError } from '../../core/kernel/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes requests for a WebSocket. */
    takesSocket?: boolean
  }
  interface FastifyInstance {
    /**
     * The error for a request without a route: 405 with `Allow` if its path supports other methods, otherwise 404. For
     * catch-all routes.
     */
    refusalOfUnrouted(request: FastifyRequest, reply: FastifyReply): ApiError
  }
}

/** Surfaces handle their own errors: even for an unsupported method, only keys with access learn that the path exists. */
const SURFACE = /^\/v\d/

/** A path of the router with its methods. */
interface Path {
  pattern: RegExp
  methods: Set<string>
}

/** Rejects requests without a route, and those for a WebSocket, before a body is read. */
export const unroutedRequests = plugin(
  async (app) => {
    const paths = new Map<string, Path>()
    app.addHook('onRoute', ({ url, method }) => {
      if (url.includes('*') || SURFACE.test(url)) return
      const path = paths.get(url) ?? { pattern: patternOf(url), methods: new Set() }
      for (const one of [method].flat()) path.methods.add(one)
      paths.set(url, path)
    })
    app.decorate('refusalOfUnrouted', (request, reply) => {
      const methods = methodsOf(request, paths)
      if (methods.length === 0) return pathUnknown(request.method, request.url)
      reply.header('allow', methods.join(', '))
      return new ApiError('method_not_allowed', `Use ${methods.join(' or ')} ${pathOf(request)}.`)
    })
    app.addHook('onRequest', (request, reply, done) => {
      if (isForSocket(request.headers) && !request.routeOptions.config.takesSocket) {
        reply.header('upgrade', 'HTTP/1.1')
        return done(new ApiError('websocket_unsupported', 'WebSocket is not served here. Use HTTP.'))
      }
      done(request.is404 ? app.refusalOfUnrouted(request, reply) : undefined)
    })
  },
  { name: 'unrouted-requests', dependencies: ['send-errors'] },
)

/** Whether a request asks for a WebSocket. */
export const isForSocket = ({ upgrade }: IncomingHttpHeaders): boolean =>
  upgrade?.toLowerCase() === 'websocket'

const patternOf = (url: string): RegExp => {
  const names = url
    .split('/')
    .map((name) => (name.startsWith(':') ? '[^/]+' : name.replace(/[^\w-]/g, '\\$&')))
  return new RegExp(`^${names.join('/')}/?$`)
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0]!

/** The methods of all routes that match the path of a request. */
function methodsOf(request: FastifyRequest, paths: ReadonlyMap<string, Path>): string[] {
  const path = pathOf(request)
  const known = [...paths.values()].filter(({ pattern }) => pattern.test(path))
  return [...new Set(known.flatMap(({ methods }) => [...methods]))]
}

import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import { ApiError } from '../../core/kernel/errors.ts'

const OPERATOR_API = '/admin/api/'

/** For JSON that a browser's cookie or password opens, whatever becomes of the request: it is no page, and is kept nowhere. */
const PRIVATE_JSON = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** Whether a request is for the operators' JSON. `/admin/%61pi/` is routed there as well, so the path counts decoded. */
export function isOperatorApi({ url }: Pick<FastifyRequest, 'url'>): boolean {
  if (url.startsWith(OPERATOR_API)) return true
  const path = url.split('?', 1)[0]!
  if (!path.includes('%')) return false
  try {
    return decodeURIComponent(path).startsWith(OPERATOR_API)
  } catch {
    // What cannot be decoded is routed nowhere.
    return false
  }
}

/** Refuses requests that a proxy in front may have read as another one, and keeps browsers from guessing what an answer is. */
export const guardRequests = plugin(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('x-content-type-options', 'nosniff')
      if (isOperatorApi(request)) reply.headers(PRIVATE_JSON)
      const problem = problemOf(request.raw)
      if (problem === null) done()
      else done(new ApiError('invalid_request', problem))
    })
  },
  { name: 'guard-requests' },
)

/** Node.js keeps the first of several `Host` or `Authorization` headers, and takes the path out of an absolute target. */
function problemOf({ url = '', rawHeaders, httpVersion }: IncomingMessage): string | null {
  if (!url.startsWith('/')) return 'The target of the request is not a path. Ask for `/…`.'
  // PostgreSQL can hold no such text, so nothing of that name is anywhere.
  if (url.includes('%00')) return 'The address contains a NUL character (`%00`). Leave it out.'
  let hosts = 0
  let authorizations = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    // Lengths first: this runs for every header of every call.
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations += 1
  }
  if (hosts === 0 && httpVersion === '1.1') return 'The request has no `Host` header.'
  if (hosts > 1) return 'The request has more than one `Host` header.'
  if (authorizations > 1) return 'The request has more than one `Authorization` header.'
  return null
}

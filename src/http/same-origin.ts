import type { FastifyRequest } from 'fastify'
import { ApiError } from '../core/kernel/errors.ts'

/**
 * For routes with authentication by a cookie, or by a password that the browser remembers: a request for a change must
 * come from our own pages. Browsers state its origin in headers that no page can set: `Sec-Fetch-Site`, and `Origin` on
 * everything but GET and HEAD. Throws ApiError `not_permitted` if they name another origin, or none.
 */
export function requireSameOrigin(request: FastifyRequest, publicUrl: string | null): void {
  const { method, headers } = request
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return
  const site = headers['sec-fetch-site']
  const isOurs = site === undefined ? isOwnOrigin(request, publicUrl) : site === 'same-origin'
  if (!isOurs)
    throw new ApiError('not_permitted', 'This request is accepted only from the pages of this gateway.')
}

function isOwnOrigin(
  { protocol, headers: { origin, host } }: FastifyRequest,
  publicUrl: string | null,
): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false
  const given = new URL(origin).origin
  const known = publicUrl === null ? null : new URL(publicUrl)
  if (given === known?.origin) return true
  // A proxy may serve us by https without announcing it, so for the public host only the public URL states the scheme.
  return known?.host !== host && given === `${protocol}://${host}`
}

/** The same check as an onRequest hook, for routes without a session. */
export const fromOwnPages = (publicUrl: string | null) => ({
  onRequest: async (request: FastifyRequest) => requireSameOrigin(request, publicUrl),
})

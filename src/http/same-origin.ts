import type { FastifyRequest } from 'fastify'
import { ApiError } from '../core/kernel/errors.ts'

/**
 * For routes that a cookie opens, or a password that the browser keeps: a request that changes something must come
 * from our own pages. Browsers say where it comes from in headers that no page can set: `Sec-Fetch-Site`, and
 * `Origin` on everything but GET and HEAD. Throws ApiError `not_permitted` where they say otherwise, or nothing.
 */
export function requireSameOrigin(request: FastifyRequest, publicUrl: string | null): void {
  const { method, headers } = request
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return
  const site = headers['sec-fetch-site']
  const isOurs = site === undefined ? isOwnOrigin(request, publicUrl) : site === 'same-origin'
  if (!isOurs)
    throw new ApiError('not_permitted', 'This can only be done from the pages of this gateway itself.')
}

function isOwnOrigin(
  { protocol, headers: { origin, host } }: FastifyRequest,
  publicUrl: string | null,
): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false
  const given = new URL(origin).origin
  const known = publicUrl === null ? null : new URL(publicUrl)
  if (given === known?.origin) return true
  // A proxy may speak https for us without saying so: of the host it is known by, only the public address tells the scheme.
  return known?.host !== host && given === `${protocol}://${host}`
}

/** An onRequest hook for routes without a session: the same check. */
export const fromOwnPages = (publicUrl: string | null) => ({
  onRequest: async (request: FastifyRequest) => requireSameOrigin(request, publicUrl),
})

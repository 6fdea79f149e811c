import type { FastifyRequest } from 'fastify'
import { ApiError } from '../core/errors.ts'

/**
 * For routes that a cookie opens: a request that changes something must come from our own pages. Browsers say where
 * it comes from in headers that no page can set: `Sec-Fetch-Site`, and `Origin` on everything but GET and HEAD.
 * Throws ApiError `not_permitted` where they say otherwise, or nothing.
 */
export function requireSameOrigin({ method, headers }: FastifyRequest, publicUrl: string | null): void {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return
  const site = headers['sec-fetch-site']
  const isOurs = site === undefined ? isOwnOrigin(headers, publicUrl) : site === 'same-origin'
  if (!isOurs)
    throw new ApiError('not_permitted', 'This can only be done from the pages of this gateway itself.')
}

function isOwnOrigin({ origin, host }: FastifyRequest['headers'], publicUrl: string | null): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false
  const given = new URL(origin)
  return given.host === host || (publicUrl !== null && given.origin === new URL(publicUrl).origin)
}

import type { FastifyRequest } from 'fastify'
import type { PasskeySite } from '../../../accounts/second-factor/passkeys.ts'
import { ApiError } from '../../../core/kernel/errors.ts'

/**
 * The site that a browser sees this gateway as: PUBLIC_URL, else the address that was asked. A page of another site
 * cannot use passkeys of ours, whatever it claims: the browser signs the address with them. Throws ApiError for an address that
 * is none.
 */
export function passkeySite({ protocol, host }: FastifyRequest, publicUrl: string | null): PasskeySite {
  const address = publicUrl ?? `${protocol}://${host}`
  if (!URL.canParse(address))
    throw new ApiError('invalid_request', 'The header `Host` is not the name of a host.', { param: 'host' })
  const { origin, hostname } = new URL(address)
  return { origin, id: hostname }
}

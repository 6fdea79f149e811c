import type { FastifyRequest } from 'fastify'
import type { PasskeySite } from '../../../accounts/second-factor/passkeys.ts'
import { invalid } from '../../../core/kernel/errors.ts'

/**
 * The site of this gateway for browsers: PUBLIC_URL, otherwise the requested address. A page of another site cannot use
 * our passkeys, because the browser signs its address with them. Throws ApiError for an invalid address.
 */
export function passkeySite({ protocol, host }: FastifyRequest, publicUrl: string | null): PasskeySite {
  const address = publicUrl ?? `${protocol}://${host}`
  if (!URL.canParse(address)) throw invalid('host', 'The header `Host` is not a valid host name.')
  const { origin, hostname } = new URL(address)
  return { origin, id: hostname }
}

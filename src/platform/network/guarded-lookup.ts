import type { LookupAddress, LookupAllOptions } from 'node:dns'
import type { LookupFunction } from 'node:net'

/** `dns.lookup` with `all: true`. */
export type ResolveName = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * A name that resolves to no allowed address, or to none at all. The error does not distinguish the two: otherwise the
 * client that chose the name could probe the names of our network.
 */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/**
 * A `lookup` for sockets that hands out allowed addresses only. The socket connects to what this very
 * lookup returned, so a name that changes its answer between a check and the connection gains nothing.
 * Sockets do not look up IP addresses: those must be checked before.
 */
export function createGuardedLookup(
  resolve: ResolveName,
  isAllowed: (address: string) => boolean,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(refused(hostname, error), [])
      const allowed = addresses.filter(({ address }) => isAllowed(address))
      const [first] = allowed
      if (!first) return callback(refused(hostname), [])
      if (options.all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
}

const refused = (hostname: string, cause?: Error): AddressRefused =>
  new AddressRefused(`${hostname} has no public address`, { cause })

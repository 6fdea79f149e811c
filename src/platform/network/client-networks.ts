import { isIPv4, isIPv6 } from 'node:net'

/**
 * The networks by which a client's attempts are counted. One IPv6 customer has at least 2^64 addresses, often a whole
 * site, so counting by address would not limit it.
 */
export interface ClientNetworks {
  /** An IPv4 address (`/32`), or the `/64` of an IPv6 address. */
  subnet: string
  /** The `/48` of an IPv6 address, which one customer may have; null for IPv4. */
  site: string | null
}

/** Texts that are not addresses share one count. Otherwise a proxy that sends them would bypass the limits. */
const UNKNOWN: ClientNetworks = { subnet: 'unknown', site: null }

/** Proxies may append the client's port to its address. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/
/** IPv4 addresses in IPv6 notation, in canonical groups: mapped (::ffff:0:0/96) or NAT64 (64:ff9b::/96, RFC 6052). */
const CARRIES_IPV4 = new Set(['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'])

/** Parses an IPv4 or IPv6 address. IPv4 addresses in IPv6 notation count as IPv4. */
export function clientNetworks(address: string): ClientNetworks {
  const [, bracketed, dotted] = WITH_PORT.exec(address) ?? []
  const [bare = ''] = (bracketed ?? dotted ?? address).split('%')
  if (isIPv4(bare)) return ipv4Networks(bare)
  if (!isIPv6(bare)) return UNKNOWN
  const groups = groupsOf(bare)
  if (CARRIES_IPV4.has(groups.slice(0, 6).join(':'))) {
    const bytes = groups.slice(6).flatMap((group) => {
      const bits = Number.parseInt(group, 16)
      return [bits >> 8, bits & 0xff]
    })
    return ipv4Networks(bytes.join('.'))
  }
  return { subnet: `${groups.slice(0, 4).join(':')}::/64`, site: `${groups.slice(0, 3).join(':')}::/48` }
}

const ipv4Networks = (address: string): ClientNetworks => ({ subnet: `${address}/32`, site: null })

/** The eight groups of an IPv6 address as hexadecimal digits. A URL's host is in canonical form (RFC 5952). */
function groupsOf(ipv6: string): string[] {
  const [head = [], tail = []] = new URL(`http://[${ipv6}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')))
  return [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
}

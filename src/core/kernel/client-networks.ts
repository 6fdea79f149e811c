/**
 * The networks that a client's address is counted under. One IPv6 customer has at least 2^64 addresses, often a
 * whole site, so attempts are counted by network.
 */
export interface ClientNetworks {
  /** An IPv4 address (`/32`), or the `/64` of an IPv6 address. */
  subnet: string
  /** The `/48` of an IPv6 address, which one customer of a provider may have; null for IPv4. */
  site: string | null
}

/** Texts that are not addresses share one count; otherwise a proxy that sends them would bypass the limits. */
const UNKNOWN: ClientNetworks = { subnet: 'unknown', site: null }

const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/
/** Proxies may append the client's port to its address. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/
const GROUP = /^[0-9a-f]{1,4}$/i

/** Reads an IPv4 or IPv6 address; IPv4 addresses written as IPv6 (mapped, or translated by NAT64) are IPv4. */
export function clientNetworks(address: string): ClientNetworks {
  const [, bracketed, dotted] = WITH_PORT.exec(address) ?? []
  const bare = bracketed ?? dotted ?? address
  const ipv4 = parseIpv4(bare)
  if (ipv4 !== null) return { subnet: ipv4Network(ipv4), site: null }
  const groups = parseIpv6(bare)
  if (groups === null) return UNKNOWN
  const carried = carriedIpv4(groups)
  if (carried !== null) return { subnet: ipv4Network(carried), site: null }
  const prefix = (count: number) => groups.slice(0, count).map((group) => group.toString(16))
  return { subnet: `${prefix(4).join(':')}::/64`, site: `${prefix(3).join(':')}::/48` }
}

const ipv4Network = (groups: readonly [number, number]): string =>
  `${groups.flatMap((group) => [group >> 8, group & 0xff]).join('.')}/32`

/** Two groups of 16 bits. */
function parseIpv4(text: string): [number, number] | null {
  const bytes = IPV4.exec(text)?.slice(1).map(Number)
  if (!bytes || bytes.some((byte) => byte > 255)) return null
  const [a = 0, b = 0, c = 0, d = 0] = bytes
  return [(a << 8) | b, (c << 8) | d]
}

/** Eight groups of 16 bits (RFC 4291, section 2.2), without a zone. */
function parseIpv6(text: string): number[] | null {
  const [bare = ''] = text.split('%')
  const halves = bare.split('::')
  if (halves.length > 2) return null
  const [head, tail] = halves.map(parseGroups)
  if (!head || tail === null) return null
  if (tail === undefined) return head.length === 8 ? head : null
  const zeros = 8 - head.length - tail.length
  return zeros >= 1 ? [...head, ...Array<number>(zeros).fill(0), ...tail] : null
}

function parseGroups(text: string): number[] | null {
  if (text === '') return []
  const parts = text.split(':')
  const ipv4 = parseIpv4(parts.at(-1) ?? '')
  const hex = ipv4 ? parts.slice(0, -1) : parts
  if (!hex.every((part) => GROUP.test(part))) return null
  return [...hex.map((part) => Number.parseInt(part, 16)), ...(ipv4 ?? [])]
}

/** The IPv4 address in ::ffff:0:0/96 (mapped) and 64:ff9b::/96 (RFC 6052). */
function carriedIpv4(groups: readonly number[]): [number, number] | null {
  const prefix = groups.slice(0, 6).join(':')
  const isCarried = prefix === '0:0:0:0:0:65535' || prefix === '100:65435:0:0:0:0'
  return isCarried ? [groups[6]!, groups[7]!] : null
}

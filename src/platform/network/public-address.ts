import { BlockList, isIP } from 'node:net'

/** IPv4 blocks that are not the public internet (IANA special-purpose registry), and one that only looks it. */
const NOT_PUBLIC_IPV4: ReadonlyArray<readonly [network: string, bits: number]> = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Link-local, with the metadata services of most clouds.
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  // Azure's host services, reachable from inside only.
  ['168.63.129.16', 32],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/** Within global unicast: special purposes, and wrappings of IPv4 addresses (Teredo, 6to4). */
const NOT_PUBLIC_IPV6: ReadonlyArray<readonly [network: string, bits: number]> = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const refused = new BlockList()
for (const [network, bits] of NOT_PUBLIC_IPV4) refused.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of NOT_PUBLIC_IPV6) refused.addSubnet(network, bits, 'ipv6')

/** Of IPv6 only global unicast is public; that leaves out loopback, mapped IPv4, NAT64, local and multicast. */
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

/**
 * Whether an IP address is one of the public internet. Loopback, private, link-local, shared, multicast,
 * reserved and cloud metadata addresses are not, nor is any IPv6 form that carries an IPv4 address, nor what
 * is no IP address at all.
 */
export function isPublicAddress(address: string): boolean {
  const [bare = ''] = address.split('%')
  switch (isIP(bare)) {
    case 4:
      return !refused.check(bare, 'ipv4')
    case 6:
      return globalUnicast.check(bare, 'ipv6') && !refused.check(bare, 'ipv6')
    default:
      return false
  }
}

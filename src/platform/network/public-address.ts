import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** IPv4 blocks outside the public internet (IANA special-purpose registry), and one that only appears public. */
const NOT_PUBLIC_IPV4: ReadonlyArray<readonly [network: string, bits: number]> = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Link-local, which contains the metadata services of most clouds.
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  // Azure's host services, reachable only from inside Azure.
  ['168.63.129.16', 32],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/** Blocks within global unicast: special purposes, and encapsulated IPv4 addresses (Teredo, 6to4). */
const NOT_PUBLIC_IPV6: ReadonlyArray<readonly [network: string, bits: number]> = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const notPublic = new BlockList()
for (const [network, bits] of NOT_PUBLIC_IPV4) notPublic.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of NOT_PUBLIC_IPV6) notPublic.addSubnet(network, bits, 'ipv6')

/** Only global unicast is public in IPv6. This excludes loopback, mapped IPv4, NAT64, local and multicast addresses. */
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

/**
 * Whether an IP address belongs to the public internet. False for loopback, private, link-local, shared, multicast,
 * reserved and cloud metadata addresses, for IPv6 addresses that contain an IPv4 address, and for text that is not an
 * IP address.
 */
export function isPublicAddress(address: string): boolean {
  const [bare = ''] = address.split('%')
  switch (isIP(bare)) {
    case 4:
      return !notPublic.check(bare, 'ipv4')
    case 6:
      return globalUnicast.check(bare, 'ipv6') && !notPublic.check(bare, 'ipv6')
    default:
      return false
  }
}

/** `dns.lookup` with `all: true`. */
export type ResolveName = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * A name that resolves to no allowed address, or to no address. The error does not distinguish the two; otherwise the
 * client that chose the name could probe the names of our network.
 */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/**
 * A `lookup` for sockets that returns allowed addresses only. The socket connects to the address of this lookup, so a
 * name whose address changes between check and connection gains nothing. Sockets do not look up IP addresses; check
 * those before.
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

/** Timeout of the first of two tries; the second is longer. A name fails after a few seconds. */
const TRY_MS = 1_500
const TRIES = 2

/**
 * Resolves names chosen by clients, by DNS only. `dns.lookup` would occupy one of the few threads that a process has
 * for all its lookups until a slow name server responds. The hosts file is not read. `servers`: `address:port`; the
 * system's by default.
 */
export function createResolveName(servers?: readonly string[]): ResolveName {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  return (hostname, { family }, callback) => {
    const of = async (wanted: 4 | 6): Promise<LookupAddress[]> => {
      if (family === (wanted === 4 ? 6 : 4)) return []
      const found = await (wanted === 4 ? resolver.resolve4(hostname) : resolver.resolve6(hostname))
      return found.map((address) => ({ address, family: wanted }))
    }
    void Promise.allSettled([of(4), of(6)]).then((outcomes) => {
      const addresses = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
      const refusal = outcomes.find((outcome) => outcome.status === 'rejected')
      if (addresses.length === 0 && refusal) callback(refusal.reason, [])
      else callback(null, addresses)
    })
  }
}

/** Names that are never on the public internet: RFC 6761, 6762, 8375 and ICANN's reservation of `internal`. */
const LOCAL_NAME = /(^|\.)(localhost|local|internal|home\.arpa)$/

/** Whether the text of a name shows that it is local to a machine or network. True for a name without a dot. */
function isLocalName(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, '')
  return !name.includes('.') || LOCAL_NAME.test(name)
}

type WebhookUrlCheck = { kind: 'ok'; url: URL } | { kind: 'refused'; reason: string }

const URL_LENGTH_MAX = 2_048
const PORTS = new Set(['', '80', '443'])

/**
 * Checks the text of a webhook URL: https, ports 80 or 443, no credentials, and a public address or name. The resolved
 * address is checked at every connection. `allowPrivate` allows everything that is well-formed.
 */
export function checkWebhookUrl(text: string, allowPrivate: boolean): WebhookUrlCheck {
  const refuse = (reason: string): WebhookUrlCheck => ({ kind: 'refused', reason })
  if (text.length > URL_LENGTH_MAX) return refuse(`is longer than ${URL_LENGTH_MAX} characters`)
  if (!URL.canParse(text)) return refuse('is not a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuse('is not an https address')
  if (url.username !== '' || url.password !== '') return refuse('carries credentials')
  if (allowPrivate) return { kind: 'ok', url }
  if (url.protocol !== 'https:') return refuse('is not an https address')
  if (!PORTS.has(url.port)) return refuse('uses a port other than 80 and 443')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isPublic = isIP(host) === 0 ? !isLocalName(host) : isPublicAddress(host)
  if (!isPublic) return refuse('is not a public address')
  return { kind: 'ok', url }
}

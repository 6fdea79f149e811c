import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'

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

const notPublic = new BlockList()
for (const [network, bits] of NOT_PUBLIC_IPV4) notPublic.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of NOT_PUBLIC_IPV6) notPublic.addSubnet(network, bits, 'ipv6')

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

/** Two tries of so long, the second longer: a name is given up after a few seconds. */
const TRY_MS = 1_500
const TRIES = 2

/**
 * Resolves names that strangers chose, by DNS alone. `dns.lookup` would run the system's resolver in one of the few
 * threads that a process has for all its look-ups, for as long as a name server chooses not to answer. The system's
 * hosts file is not read. `servers`: `address:port`; the system's by default.
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

/** Names that never lead to the public internet: RFC 6761, 6762, 8375 and ICANN's reservation of `internal`. */
const LOCAL_NAME = /(^|\.)(localhost|local|internal|home\.arpa)$/

/** Whether a name is of one machine or network by its text alone; without a dot it is, too. */
function isLocalName(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, '')
  return !name.includes('.') || LOCAL_NAME.test(name)
}

type WebhookUrlCheck = { kind: 'ok'; url: URL } | { kind: 'refused'; reason: string }

const URL_LENGTH_MAX = 2_048
const PORTS = new Set(['', '80', '443'])

/**
 * Whether events may be sent to this address, as far as its text says: https, the usual ports, no
 * credentials, and no address or name that is not public. What a name resolves to is checked at every connection.
 * `allowPrivate` lifts all but the form.
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

import { BlockList, isIP } from 'node:net'
import plugin from 'fastify-plugin'
import type { Logger } from '../../platform/observability/logger.ts'

/** Whether the peer of a connection is one of the trusted proxies, which are addresses or networks. */
export function createProxyTest(
  proxies: readonly string[],
): (address: string, family: string | undefined) => boolean {
  const list = new BlockList()
  for (const proxy of proxies) {
    const [address = '', prefix] = proxy.trim().split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (isIP(address) === 0) continue
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return (address, family) => list.check(address, family === 'IPv6' ? 'ipv6' : 'ipv4')
}

interface WarnOfUntrustedProxyOptions {
  logger: Logger
  limits: { trustedProxies: readonly string[] }
}

/**
 * Warns once when an untrusted peer sends `X-Forwarded-For`. All clients of a proxy that TRUSTED_PROXIES omits share
 * one address, and therefore the limits of sign-in, sign-up and invented keys.
 */
export const warnOfUntrustedProxy = plugin<WarnOfUntrustedProxyOptions>(
  async (app, { logger, limits }) => {
    const isProxy = createProxyTest(limits.trustedProxies)
    let warned = false
    app.addHook('onRequest', ({ headers, socket }, _reply, done) => {
      const { remoteAddress = '', remoteFamily } = socket
      if (!warned && headers['x-forwarded-for'] !== undefined && !isProxy(remoteAddress, remoteFamily)) {
        warned = true
        logger.warn(
          { peer: remoteAddress },
          'ignoring X-Forwarded-For of an address outside TRUSTED_PROXIES; if this is your proxy, add it, otherwise its clients share the limits of one address',
        )
      }
      done()
    })
  },
  { name: 'trusted-proxies' },
)

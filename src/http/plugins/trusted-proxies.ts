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
 * Warns once when a peer that is not trusted sends `X-Forwarded-For`. A proxy that TRUSTED_PROXIES leaves out makes all
 * its clients one address: the limits of sign-in, sign-up and invented keys are then those of everybody together.
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
          'X-Forwarded-For from an address outside TRUSTED_PROXIES is ignored: if this is your proxy, add it, or all its clients share the limits of one address',
        )
      }
      done()
    })
  },
  { name: 'trusted-proxies' },
)

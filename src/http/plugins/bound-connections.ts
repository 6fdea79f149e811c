import { BlockList, isIP, type Socket } from 'node:net'
import plugin from 'fastify-plugin'
import { clientNetworks } from '../../platform/network/client-networks.ts'

export interface BoundConnectionsOptions {
  /** Open connections of one IPv4 address or IPv6 /64. */
  perAddress: number
  /** Proxies in front of the gateway, as addresses or networks; they bring many clients, and bound them themselves. */
  trustedProxies: readonly string[]
}

/** Refuses connections of one network beyond a number, so that nobody takes up the files of a process. */
export const boundConnections = plugin<BoundConnectionsOptions>(
  async (app, { perAddress, trustedProxies }) => {
    const open = new Map<string, number>()
    const isProxy = createProxyTest(trustedProxies)
    app.server.on('connection', (socket: Socket) => {
      const { remoteAddress = '', remoteFamily } = socket
      if (isProxy(remoteAddress, remoteFamily)) return
      const { subnet } = clientNetworks(remoteAddress)
      const count = open.get(subnet) ?? 0
      if (count >= perAddress) {
        socket.destroy()
        return
      }
      open.set(subnet, count + 1)
      socket.once('close', () => {
        const left = (open.get(subnet) ?? 1) - 1
        if (left === 0) open.delete(subnet)
        else open.set(subnet, left)
      })
    })
  },
  { name: 'bound-connections' },
)

/** Whether an address is one of the proxies. */
function createProxyTest(
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

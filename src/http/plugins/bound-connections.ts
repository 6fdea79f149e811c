import { BlockList, isIP, type Socket } from 'node:net'
import plugin from 'fastify-plugin'
import { clientNetworks } from '../../platform/network/client-networks.ts'

export interface BoundConnectionsOptions {
  /** Open connections of one IPv4 address or IPv6 /64. */
  perAddress: number
  /** Proxies in front of the gateway, as addresses or networks; they bring many clients, and bound them themselves. */
  trustedProxies: readonly string[]
  /** How long connections with an answer under way may stay open once the server closes. */
  graceMs: number
}

/** After the grace period, calls are ended truthfully; their last bytes get this long to leave. */
const LAST_BYTES_MS = 1_000

/**
 * Refuses connections of one network beyond a number, so that nobody takes up the files of a process, and lets the
 * server close while clients keep connections open. Node itself closes those that wait between two requests, but one
 * that was opened and said nothing yet, or half a request, would hold it open for good. Connections with an answer
 * under way close when it has ended, all others at once, and whatever is left after the grace period then.
 */
export const boundConnections = plugin<BoundConnectionsOptions>(
  async (app, { perAddress, trustedProxies, graceMs }) => {
    /** Open connections by network. */
    const open = new Map<string, number>()
    /** Answers under way by connection. */
    const answers = new Map<Socket, number>()
    const isProxy = createProxyTest(trustedProxies)
    let closing = false
    let timer: NodeJS.Timeout | undefined

    const isOneTooMany = (socket: Socket): boolean => {
      const { remoteAddress = '', remoteFamily } = socket
      if (isProxy(remoteAddress, remoteFamily)) return false
      const { subnet } = clientNetworks(remoteAddress)
      const count = open.get(subnet) ?? 0
      if (count >= perAddress) return true
      open.set(subnet, count + 1)
      socket.once('close', () => {
        const left = (open.get(subnet) ?? 1) - 1
        if (left === 0) open.delete(subnet)
        else open.set(subnet, left)
      })
      return false
    }

    app.server.on('connection', (socket: Socket) => {
      if (closing || isOneTooMany(socket)) {
        socket.destroy()
        return
      }
      answers.set(socket, 0)
      socket.once('close', () => answers.delete(socket))
    })
    app.server.on('request', ({ socket }, response) => {
      answers.set(socket, (answers.get(socket) ?? 0) + 1)
      response.once('close', () => {
        const open = answers.get(socket)
        // Absent when the connection is gone already.
        if (open === undefined) return
        answers.set(socket, open - 1)
        if (closing && open === 1) socket.destroySoon()
      })
    })

    app.addHook('preClose', async () => {
      closing = true
      for (const [socket, open] of answers) if (open === 0) socket.destroy()
      timer = setTimeout(() => {
        for (const socket of answers.keys()) socket.destroy()
      }, graceMs + LAST_BYTES_MS)
    })
    app.addHook('onClose', async () => clearTimeout(timer))
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

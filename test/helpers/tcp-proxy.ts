import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A server between two parts of the gateway that can be taken away without touching either. */
export interface TcpProxy {
  /** The address it stands for, with its own host and port. */
  url: string
  /** Breaks every connection and refuses new ones. */
  refuse(): void
  /** Keeps connections open and lets nothing through any more: the other side is gone without a word. */
  swallow(): void
  restore(): void
  close(): Promise<void>
}

/** Starts a proxy in front of a service on loopback. */
export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let mode: 'through' | 'refuse' | 'swallow' = 'through'
  const breakAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    track(client)
    if (mode === 'refuse') {
      client.destroy()
      return
    }
    if (mode === 'swallow') {
      client.resume()
      return
    }
    const upstream = connect(Number(target.port), target.hostname)
    track(upstream)
    client.on('data', (data) => mode === 'through' && upstream.write(data))
    upstream.on('data', (data) => mode === 'through' && client.write(data))
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as { port: number }).port)
  return {
    url: url.href,
    refuse() {
      mode = 'refuse'
      breakAll()
    },
    swallow() {
      mode = 'swallow'
    },
    restore() {
      // What was swallowed cannot be made up for: those connections are useless.
      if (mode === 'swallow') breakAll()
      mode = 'through'
    },
    async close() {
      breakAll()
      server.close()
      await once(server, 'close')
    },
  }
}

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A server between two parts of the gateway that can be taken away without touching either. */
export interface TcpProxy {
  /** The address it stands for, with its own host and port. */
  url: string
  /** Breaks every connection and refuses new ones. */
  refuse(): void
  /** Does so once the service has sent so many more bytes. */
  refuseAfter(bytes: number): void
  /** How many bytes the service has sent. */
  sentBytes(): number
  /** Keeps connections open and lets nothing through any more: the other side is gone without a word. */
  swallow(): void
  /** Keeps everything back, also of new connections, until it is restored: the other side has become slow. */
  hold(): void
  /** Lets the next request through and breaks the connection on its answer: it is done, and nobody hears of it. */
  loseNextAnswer(): void
  restore(): void
  /** Breaks every connection, and leads new ones to another service of the same kind. */
  moveTo(targetUrl: string): void
  close(): Promise<void>
}

/** Starts a proxy in front of a service on loopback, or of a Redis at `unix://…`. */
export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  let target = new URL(targetUrl)
  const isSocket = target.protocol === 'unix:'
  const sockets = new Set<Socket>()
  let mode: 'through' | 'refuse' | 'swallow' | 'hold' | 'lose-answer' = 'through'
  let sentBytes = 0
  let refusesAt = Number.POSITIVE_INFINITY
  const refuse = () => {
    refusesAt = Number.POSITIVE_INFINITY
    mode = 'refuse'
    breakAll()
  }
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
    const upstream = isSocket ? connect(target.pathname) : connect(Number(target.port), target.hostname)
    track(upstream)
    client.on('data', (data) => mode !== 'swallow' && upstream.write(data))
    upstream.on('data', (data) => {
      sentBytes += data.length
      if (sentBytes > refusesAt) refuse()
      else if (mode === 'lose-answer') {
        mode = 'through'
        client.destroy()
      } else if (mode !== 'swallow') client.write(data)
    })
    if (mode === 'hold') for (const socket of [client, upstream]) socket.pause()
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(isSocket ? 'redis://127.0.0.1' : targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as { port: number }).port)
  return {
    url: url.href,
    refuse,
    refuseAfter(bytes) {
      refusesAt = sentBytes + bytes
    },
    sentBytes: () => sentBytes,
    swallow() {
      mode = 'swallow'
    },
    hold() {
      mode = 'hold'
      for (const socket of sockets) socket.pause()
    },
    loseNextAnswer() {
      mode = 'lose-answer'
    },
    restore() {
      // What was swallowed cannot be made up for: those connections are useless.
      if (mode === 'swallow') breakAll()
      mode = 'through'
      for (const socket of sockets) socket.resume()
    },
    moveTo(targetUrl) {
      target = new URL(targetUrl)
      breakAll()
    },
    async close() {
      breakAll()
      server.close()
      await once(server, 'close')
    },
  }
}

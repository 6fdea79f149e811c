import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'

/**
 * Connects to a server of this process without a network. The server reads, limits and counts what comes over it like
 * any other connection; one side closes with the other.
 * @param server its listeners for `connection` get the server's side
 * @param client whose address the server sees
 * @returns the client's side
 */
export function connectInMemory(
  server: Server,
  { remoteAddress, remoteFamily, remotePort }: Pick<Socket, 'remoteAddress' | 'remoteFamily' | 'remotePort'>,
): Duplex {
  const [ours, theirs] = duplexPair()
  // What a server uses of a socket besides the stream. A peer that does not read is bounded by who made the connection.
  Object.assign(theirs, {
    ...{ remoteAddress, remoteFamily, remotePort },
    setTimeout: () => theirs,
    destroySoon: () => theirs.end(() => theirs.destroy()),
  })
  ours.once('close', () => theirs.destroy())
  theirs.once('close', () => ours.destroy())
  server.emit('connection', theirs)
  return ours
}

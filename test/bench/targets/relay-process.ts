/**
 * A plain relay: every request goes to the provider as it is and its response comes back as it is, over kept
 * connections. No gateway that is written for Node does its work for less. Takes the provider's origin as its
 * argument and tells its parent the port.
 */
import { Agent, createServer, request as startRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'

process.title = 'shuntyard-relay'
const provider = process.argv[2] ?? ''
const agent = new Agent({ keepAlive: true })
const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, (request, response) => {
  const { method, headers } = request
  const upstream = startRequest(new URL(request.url ?? '/', provider), { method, headers, agent })
  upstream.on('error', () => response.destroy())
  upstream.on('response', (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers)
    pipeline(reply, response, () => undefined)
  })
  request.pipe(upstream)
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit(0))

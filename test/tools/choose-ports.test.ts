import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { choosePorts } from '../../tools/launcher/ports.ts'

const HOST = '127.0.0.1'
const HOSTS = { host: HOST, metricsHost: HOST }
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function occupy(port: number): Promise<number> {
  const server = createServer()
  servers.push(server)
  server.listen(port, HOST)
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

test('two starts at the same time never choose the same port', async () => {
  const [first, second] = await Promise.all([choosePorts(HOSTS, {}), choosePorts(HOSTS, {})])
  const all = [first, second].flatMap(({ api, metrics }) => [api, ...Object.values(metrics)])
  first.release()
  second.release()
  expect(new Set(all).size).toBe(all.length)
})

test('a port named in the environment that is taken is refused, not replaced', async () => {
  const taken = await occupy(0)
  await expect(choosePorts(HOSTS, { PORT: String(taken) })).rejects.toThrow(/something else listens/)
})

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whenResponseCloses } from '../../../src/http/calls/event-stream.ts'
import { signedUp } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testStack } from '../../helpers/resources.ts'

const MODELS = { 'test/one': [{ at: 'alpha', model: 'words-12' }] }

/** Sends the head of a GET request on a connection of its own. */
async function send(url: string, path: string, headers: Record<string, string>): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => socket.destroy())
  await once(socket, 'connect')
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  return socket
}

describe('what is held for a response', () => {
  const released: string[] = []
  const server = createServer((request, response) => void handlers[request.url!]!(response))
  const handlers: Record<string, (response: ServerResponse) => Promise<void> | void> = {
    '/answered': (response) => {
      whenResponseCloses(response, () => released.push('answered'))
      response.end('ok')
    },
    '/held-by-many': (response) => {
      const before = response.listenerCount('close')
      for (let holder = 0; holder < 20; holder++)
        whenResponseCloses(response, () => released.push(`holder ${holder}`))
      response.end(String(response.listenerCount('close') - before))
    },
    '/left-before': async (response) => {
      await once(response, 'close')
      whenResponseCloses(response, () => released.push('left-before'))
    },
    '/left-after': (response) => whenResponseCloses(response, () => released.push('left-after')),
  }
  let url: string
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => server.close())

  test('comes back once the response is sent', async () => {
    await (await fetch(`${url}/answered`)).text()
    await eventually(() => expect(released).toContain('answered'))
  })

  test('comes back to all that hold something, in their order, by one listener: Node warns of more than ten', async () => {
    expect(await (await fetch(`${url}/held-by-many`)).text()).toBe('1')
    await eventually(() =>
      expect(released.filter((entry) => entry.startsWith('holder'))).toEqual(
        Array.from({ length: 20 }, (_, holder) => `holder ${holder}`),
      ),
    )
  })

  test.each(['left-before', 'left-after'])('comes back when the client resets: %s', async (name) => {
    const socket = await send(url, `/${name}`, {})
    await once(server, 'request').catch(() => undefined)
    socket.resetAndDestroy()
    await eventually(() => expect(released.filter((entry) => entry === name)).toHaveLength(1))
  })
})

describe('a client that resets while its session or key is looked up', () => {
  const stack = testStack({
    models: MODELS,
    databaseProxy: true,
  })

  /** Opens connections that ask for a path, resets them all during the look-up, and lets PostgreSQL go on. */
  async function abortDuringLookup(count: number, path: string, headers: Record<string, string>) {
    const proxy = stack.databaseProxy!
    proxy.hold()
    const sockets = await Promise.all(Array.from({ length: count }, () => send(stack.url, path, headers)))
    // Answered by the same event loop, so it has the requests above by then.
    await fetch(`${stack.url}/healthz`)
    for (const socket of sockets) socket.resetAndDestroy()
    await fetch(`${stack.url}/healthz`)
    proxy.restore()
  }

  const cookieOf = ({ cookies }: { cookies: Map<string, string> }) =>
    [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

  test('keeps no slot of the console exports: others, and the account itself, still get theirs', async () => {
    const attackers = await Promise.all(Array.from({ length: 3 }, () => signedUp(stack.url)))
    for (const attacker of attackers)
      await abortDuringLookup(25, '/console/api/calls.csv', { cookie: cookieOf(attacker) })
    for (const client of [...attackers, await signedUp(stack.url)]) {
      await eventually(async () => expect((await client.ask('/console/api/calls.csv')).status).toBe(200))
      expect((await client.ask('/console/api/calls')).status).toBe(200)
    }
  })

  test('keeps no slot of the exports by API key', async () => {
    for (let attacker = 0; attacker < 5; attacker++) {
      const { key } = await stack.account('1.00')
      await abortDuringLookup(8, '/v1/usage/calls?format=csv', { authorization: `Bearer ${key}` })
    }
    const { key } = await stack.account('1.00')
    await eventually(async () => {
      const headers = { authorization: `Bearer ${key}` }
      expect((await fetch(`${stack.url}/v1/usage/calls`, { headers })).status).toBe(200)
    })
  })

  test('keeps no place among the six live views of its account', async () => {
    const client = await signedUp(stack.url)
    await abortDuringLookup(20, '/console/api/live', { cookie: cookieOf(client) })
    await eventually(async () => {
      const leave = new AbortController()
      const views = await Promise.all(
        Array.from({ length: 6 }, () => client.ask('/console/api/live', { signal: leave.signal })),
      )
      leave.abort()
      expect(views.map(({ status }) => status)).toEqual(Array(6).fill(200))
    })
  })
})

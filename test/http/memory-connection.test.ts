import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { connectInMemory } from '../../src/http/memory-connection.ts'

const CLIENT = { remoteAddress: '192.0.2.7', remoteFamily: 'IPv4', remotePort: 4711 }

function serverOf(answer: (request: IncomingMessage, response: ServerResponse) => void): Server {
  const server = createServer(answer)
  onTestFinished(() => void server.close())
  return server
}

function ask(server: Server, body: string) {
  const asked = request({ method: 'POST', createConnection: () => connectInMemory(server, CLIENT) })
  asked.on('error', () => undefined)
  asked.end(body)
  return asked
}

test('a server answers over a connection in memory, and sees the address of the client', async () => {
  const server = serverOf(async (asked, response) => {
    response.setTimeout(1_000)
    response.end(`${asked.socket.remoteAddress} ${await text(asked)}`)
  })
  const asked = ask(server, 'x'.repeat(300_000))
  const closed = once(asked, 'close')
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  expect(await text(response)).toBe(`192.0.2.7 ${'x'.repeat(300_000)}`)
  await closed
})

test('a client that leaves closes its response', async () => {
  let open!: ServerResponse
  const server = serverOf((_, response) => {
    open = response
    response.write('first')
  })
  const asked = ask(server, '')
  await once(asked, 'response')
  const closed = once(open, 'close')
  asked.destroy()
  await closed
  expect(open.writableFinished).toBe(false)
})

test('what a client does not read stays with the server, and a destroyed response ends what it reads', async () => {
  let open!: ServerResponse
  const server = serverOf((_, response) => {
    open = response
    for (let piece = 0; piece < 100; piece++) response.write('x'.repeat(10_000))
  })
  const asked = ask(server, '')
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  expect(open.writableLength).toBeGreaterThan(500_000)
  open.destroy()
  await expect(text(response)).rejects.toThrow()
})

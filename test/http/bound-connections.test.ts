import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { testStack } from '../helpers/resources.ts'

const opened: Socket[] = []

const stack = testStack({
  models: { 'test/one': [{ at: 'alpha', model: 'words-3' }] },
  environment: { CONNECTIONS_PER_ADDRESS: '5', BODY_TIMEOUT_MS: '2000', UNREAD_TIMEOUT_MS: '1000' },
})
afterAll(async () => {
  for (const socket of opened) socket.destroy()
})

/** A connection from one of our addresses that keeps its side open whatever the server does. */
async function connection(localAddress: string, sent = ''): Promise<Socket> {
  const port = Number(new URL(stack.url).port)
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true })
  opened.push(socket)
  socket.resume()
  socket.on('error', () => socket.destroy())
  await once(socket, 'connect')
  if (sent) socket.write(sent)
  return socket
}

const isClosed = async (socket: Socket) => {
  socket.write('x')
  await delay(20)
  return socket.destroyed
}

/** What comes first of a connection. */
function firstOf(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  socket.once('data', () => resolve('answered'))
  // One that is refused is ended, or reset.
  for (const event of ['end', 'close']) socket.once(event, () => resolve(event))
  return promise
}

test('closes connections of one address beyond the bound, and none of another', async () => {
  const first = await Promise.all(Array.from({ length: 5 }, () => connection('127.0.0.2')))
  const sixth = await connection('127.0.0.2')
  await expect.poll(() => isClosed(sixth)).toBe(true)
  const other = await connection('127.0.0.3', 'GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  const [answer] = (await once(other, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200/)

  for (const socket of first) socket.destroy()
  await expect
    .poll(async () => {
      const again = await connection('127.0.0.2', 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n')
      return firstOf(again)
    })
    .toBe('answered')
})

test('ends a connection whose request does not arrive, also when its client keeps it open', async () => {
  const half = await connection('127.0.0.4', 'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-le')
  const [answer] = (await once(half, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 408/)
  await expect.poll(() => isClosed(half)).toBe(true)
})

test('closes connections whose clients do not read what they asked for', async () => {
  const health = 'GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
  for (let index = 0; index < 5; index++) {
    const unread = await connection('127.0.0.5')
    unread.pause()
    // More than the buffers of two sockets hold.
    unread.write('GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(40))
  }
  expect(await firstOf(await connection('127.0.0.5', health))).not.toBe('answered')
  // Their places are free again when they have been closed.
  await expect
    .poll(async () => firstOf(await connection('127.0.0.5', health)), { timeout: 30_000 })
    .toBe('answered')
})

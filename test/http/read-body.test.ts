import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readBody } from '../../src/http/read-body.ts'
import { collectedHeapBytes } from '../helpers/collected-heap.ts'

let server: Server

beforeEach(async () => {
  server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => server.close())

/** A request whose head has arrived, and what sends its body. */
async function begun(headers: Record<string, string> = { 'transfer-encoding': 'chunked' }) {
  const { port } = server.address() as AddressInfo
  const client = request({ port, host: '127.0.0.1', method: 'POST', agent: false, headers })
  client.on('error', () => undefined)
  client.flushHeaders()
  const [incoming] = (await once(server, 'request')) as [IncomingMessage]
  return { client, incoming }
}

const options = { maxBytes: 1_000, idleMs: 60_000, arrived: () => undefined }

test('a body is its bytes in order, each part counted as it arrives', async () => {
  const { client, incoming } = await begun()
  let counted = 0
  const body = readBody(incoming, {
    ...options,
    arrived(bytes) {
      counted += bytes
      if (counted === 3) client.end('def')
    },
  })
  client.write('abc')
  expect((await body).toString()).toBe('abcdef')
  expect(counted).toBe(6)
})

test('a body that comes byte by byte takes little more room than its bytes', async () => {
  const incoming = new PassThrough() as PassThrough & Pick<IncomingMessage, 'headers'>
  incoming.headers = {}
  const whole = Buffer.alloc(1024 * 1024, 'a')
  const body = readBody(incoming as unknown as IncomingMessage, { ...options, maxBytes: whole.length })
  const before = collectedHeapBytes()
  for (let at = 0; at < whole.length; at++) incoming.emit('data', whole.subarray(at, at + 1))
  // As buffers of their own the bytes take a hundred times as much.
  expect(collectedHeapBytes() - before).toBeLessThan(16 * whole.length)
  incoming.end()
  expect((await body).equals(whole)).toBe(true)
})

test('a body of which nothing arrives is a 408 at its deadline', async () => {
  const { client, incoming } = await begun({ 'content-length': '500' })
  const body = readBody(incoming, { ...options, idleMs: 1 })
  await expect(body).rejects.toMatchObject({ code: 'request_timeout' })
  client.destroy()
})

test('a longer body than allowed is a 413, announced or not', async () => {
  const announced = await begun({ 'content-length': '1001' })
  await expect(readBody(announced.incoming, options)).rejects.toMatchObject({ code: 'request_too_large' })
  announced.client.destroy()
  const { client, incoming } = await begun()
  client.write('a'.repeat(1_001))
  await expect(readBody(incoming, options)).rejects.toMatchObject({ code: 'request_too_large' })
  client.destroy()
})

test('what refuses a part refuses the body, and the rest of it is counted no more', async () => {
  const { client, incoming } = await begun()
  let parts = 0
  const body = readBody(incoming, {
    ...options,
    arrived() {
      parts++
      throw new Error('full')
    },
  })
  client.write('a')
  await expect(body).rejects.toThrow('full')
  client.end('b')
  await once(incoming, 'end')
  expect(parts).toBe(1)
})

test('a client that leaves in the middle ends its body with an error', async () => {
  const { client, incoming } = await begun()
  const body = readBody(incoming, { ...options, arrived: () => void client.destroy() })
  client.write('a')
  await expect(body).rejects.toMatchObject({ code: 'invalid_request' })
})

test('a body that arrived while this process stood still is whole', async () => {
  const { client, incoming } = await begun()
  const body = readBody(incoming, { ...options, idleMs: 20 })
  const written = new Promise((resolve) => client.end('abc', () => resolve(undefined)))
  // What was written is in the socket, and the deadline passes before anything is read.
  for (const until = performance.now() + 100; performance.now() < until; );
  expect((await body).toString()).toBe('abc')
  await written
})

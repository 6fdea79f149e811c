import { createSocket, type Socket } from 'node:dgram'
import { type LookupAddress, lookup } from 'node:dns'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { createResolveName } from '../../../src/platform/network/public-address.ts'

const A = 1
const AAAA = 28
const servers: Socket[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** A name server; `addressOf` gives the bytes of an address for a type of question, and null for none: it stays silent. */
async function startNameServer(addressOf: (type: number) => number[] | null): Promise<string> {
  const server = createSocket('udp4')
  servers.push(server)
  server.on('message', (query, { port, address }) => {
    // The question is the name's labels up to an empty one, then type and class; what may follow is left out.
    const nameEnd = query.indexOf(0, 12) + 1
    const type = query.readUInt16BE(nameEnd)
    const bytes = addressOf(type)
    if (bytes === null) return
    const header = Buffer.from(query.subarray(0, 12))
    header.writeUInt16BE(0x8180, 2)
    header.set([0, 1, 0, bytes.length > 0 ? 1 : 0, 0, 0, 0, 0], 4)
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes])
    const parts = [header, query.subarray(12, nameEnd + 4), ...(bytes.length > 0 ? [record] : [])]
    server.send(Buffer.concat(parts), port, address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${server.address().port}`
}

const resolved = (server: string, name: string, family?: number): Promise<LookupAddress[]> =>
  new Promise((resolve, reject) =>
    createResolveName([server])(name, { all: true, ...(family && { family }) }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    ),
  )

test('finds the addresses of both families, or of the one that is asked for', async () => {
  const six = [0x20, 1, 0xd, 0xb8, ...Array<number>(11).fill(0), 1]
  const server = await startNameServer((type) => (type === AAAA ? six : [192, 0, 2, 1]))
  expect(await resolved(server, 'hooks.example.test')).toEqual([
    { address: '192.0.2.1', family: 4 },
    { address: '2001:db8::1', family: 6 },
  ])
  expect(await resolved(server, 'hooks.example.test', 6)).toEqual([{ address: '2001:db8::1', family: 6 }])
})

test('a name with addresses of one family resolves', async () => {
  const server = await startNameServer((type) => (type === A ? [192, 0, 2, 1] : []))
  expect(await resolved(server, 'hooks.example.test')).toEqual([{ address: '192.0.2.1', family: 4 }])
})

test('fails for a name without an address', async () => {
  const server = await startNameServer(() => [])
  await expect(resolved(server, 'hooks.example.test')).rejects.toThrow()
})

test('names whose server never answers are given up within seconds, and hold up no look-up of the process', async () => {
  const server = await startNameServer(() => null)
  const hanging = Promise.allSettled(
    Array.from({ length: 32 }, (_, index) => resolved(server, `hooks-${index}.example.test`)),
  )
  let isOver = false
  void hanging.then(() => {
    isOver = true
  })
  await new Promise<void>((resolve, reject) =>
    lookup('localhost', (error) => (error ? reject(error) : resolve())),
  )
  expect(isOver).toBe(false)
  expect(new Set((await hanging).map(({ status }) => status))).toEqual(new Set(['rejected']))
})

import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import plugin from 'fastify-plugin'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { plainKey } from '../../src/accounts/key-cache.ts'
import type { WantedResponse } from '../../src/calls/stored-responses/stored-response-store.ts'
import { ApiError } from '../../src/core/kernel/errors.ts'
import { byReadingKey } from '../../src/http/account-api/account-access.ts'
import { readStored } from '../../src/http/account-api/stored-reads.ts'
import { authenticate } from '../../src/http/plugins/authenticate.ts'
import { weighBodies } from '../../src/http/plugins/read-requests.ts'
import { sendErrors } from '../../src/http/plugins/send-errors.ts'
import { reportSlots } from '../../src/http/slots.ts'

const KB = 1_024
/** More than the sockets of both sides take. */
const UNREAD_BYTES = 64 * KB ** 2
const MANY = 1_000_000

/** The account and the key are in the token. */
const lookup = (token: string) => {
  const [accountId = '', keyId = ''] = token.split('/')
  return { kind: 'active' as const, key: plainKey(accountId, keyId) }
}

let app: FastifyInstance

async function start(refusedRequestsPerMinute: number) {
  app = Fastify()
  const logger = pino({ level: 'silent' })
  await app.register(sendErrors, { logger })
  app.decorateRequest('isAdmitted', false)
  app.decorateRequest('bodyBytes', 0)
  await app.register(authenticate, {
    keys: { lookup },
    limits: {
      requestsPerMinute: 600,
      refusedRequestsPerMinute,
      refusedBytesPerMinute: MANY * KB ** 2,
      tokensPerMinute: 9_000,
      concurrentCalls: 100,
      accountRequestsPerMinute: 1_200,
      accountConcurrentCalls: 200,
    },
    clock: () => 0,
  })
  await app.register(plugin(async () => undefined, { name: 'account-sessions' }))
  await app.register(weighBodies, {
    limits: {
      bodyLimitBytes: KB ** 2,
      bodyBytesPerKey: KB ** 2,
      bodyBytesPerAccount: KB ** 2,
      bodyBytesPerInstance: 100 * KB ** 2,
    },
  })
}
afterEach(() => app.close())

const ask = async (url: string, token: string) => {
  const { statusCode } = await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
  return statusCode
}

test('what fails before a call is admitted counts as refused, by all keys of its account; what fails after does not', async () => {
  await start(3)
  const hooks = { onRequest: [app.requireKey] }
  app.get('/fails', hooks, async () => {
    throw new Error('a defect')
  })
  app.get('/full', hooks, async () => {
    throw new ApiError('overloaded', 'Retry.')
  })
  app.get('/admitted', hooks, async (request) => {
    request.isAdmitted = true
    throw new ApiError('overloaded', 'Retry.')
  })
  for (const key of ['one/a', 'one/b', 'one/c', 'one/d']) expect(await ask('/admitted', key)).toBe(503)
  expect(await ask('/fails', 'one/a')).toBe(500)
  expect(await ask('/full', 'one/b')).toBe(503)
  expect(await ask('/full', 'one/a')).toBe(503)
  for (const key of ['one/a', 'one/b', 'one/c']) expect(await ask('/full', key)).toBe(429)
  expect(await ask('/full', 'other/a')).toBe(503)
})

test('reports of an account take its slots, whichever of its keys asks', async () => {
  await start(MANY)
  const access = byReadingKey(app)
  const slots = reportSlots()
  const over = Promise.withResolvers<object>()
  let begun = 0
  app.get('/report', access.hooks, (request) =>
    slots.run(access.requester(request).holder, () => {
      begun += 1
      return over.promise
    }),
  )
  const running = ['one/a', 'one/b', 'other/a'].map((key) => ask('/report', key))
  await expect.poll(() => begun).toBe(3)
  for (const key of ['one/a', 'one/b', 'one/c']) expect(await ask('/report', key)).toBe(429)
  running.push(ask('/report', 'other/b'))
  over.resolve({})
  expect(await Promise.all(running)).toEqual([200, 200, 200, 200])
})

test('a stored response counts among the bytes in flight until its client has read it, or left', async () => {
  await start(MANY)
  const wanted: WantedResponse = {
    ...{ callId: 'chatcmpl_1', previousId: null, state: 'ended', part: 'response' },
    ...{ responseBytes: 700 * KB, inputBytes: 0 },
  }
  const store = { read: async () => [] }
  app.get('/stored', { onRequest: [app.requireKey, app.weighBody] }, async (request, reply) => {
    await readStored(request, { store, accountId: 'one' }, [wanted])
    return reply.send(Buffer.alloc(request.headers.range ? UNREAD_BYTES : 1))
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  expect(await ask('/stored', 'one/a')).toBe(200)
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write('GET /stored HTTP/1.1\r\nhost: a\r\nauthorization: Bearer one/a\r\nrange: all\r\n\r\n')
  await once(socket, 'readable')
  expect(await ask('/stored', 'one/b')).toBe(429)
  socket.destroy()
  await expect.poll(() => ask('/stored', 'one/b')).toBe(200)
})

import Fastify from 'fastify'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { accessLog } from '../../src/http/plugins/access-log.ts'
import { observeRequests, SWITCHED } from '../../src/http/plugins/observe-requests.ts'
import { eventually } from '../helpers/eventually.ts'

/** An app whose access log is collected. */
async function logged() {
  const lines: Array<Record<string, unknown>> = []
  const app = Fastify({ logger: false, genReqId: () => 'req-1' })
  const report = { finished: () => undefined, traffic: { add: () => undefined } }
  await app.register(observeRequests, {
    registry: new Registry(),
    report: report as never,
    refusals: { note: () => undefined },
    pendingCalls: () => 0,
  })
  await app.register(accessLog, {
    accessLogger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  })
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { key: { keyId: 'key_1', accountId: 'acct_1' } })
  })
  app.post('/v1/things/:id', async () => ({ said: 'secret content' }))
  app.get('/v1/*', async (_request, reply) => reply.code(404).send())
  app.get('/healthz', async () => 'ok')
  app.get('/socket', (_request, reply) => {
    Object.assign(reply.hijack().raw, { statusCode: SWITCHED }).destroy()
  })
  app.get('/endless', (_request, reply) => void reply.hijack().raw.write('begun'))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, url, lines }
}

test('a request is one line with what was asked and how it ended, without content, query or parameters', async () => {
  const { app, url, lines } = await logged()
  await fetch(`${url}/v1/things/token-in-path?token=in-query`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-secret', 'content-type': 'application/json' },
    body: '{"messages":"prompt"}',
  })
  await fetch(`${url}/healthz`)
  await fetch(`${url}/${'n'.repeat(500)}`)
  await fetch(`${url}/v1/v1/models`)
  await eventually(() => expect(lines).toHaveLength(3))
  expect(lines[0]).toMatchObject({
    msg: 'request',
    requestId: 'req-1',
    method: 'POST',
    path: '/v1/things/:id',
    status: 200,
    ms: expect.any(Number),
    ip: '127.0.0.1',
    keyId: 'key_1',
    accountId: 'acct_1',
  })
  expect(lines[1]).toMatchObject({ status: 404, path: `/${'n'.repeat(199)}` })
  expect(lines[2]).toMatchObject({ status: 404, path: '/v1/v1/models' })
  expect(JSON.stringify(lines)).not.toMatch(/in-query|in-path|secret|prompt/)
  await app.close()
})

test('a WebSocket is logged when it closes, and not as aborted', async () => {
  const { app, url, lines } = await logged()
  await expect(fetch(`${url}/socket`)).rejects.toThrow()
  await eventually(() => expect(lines).toMatchObject([{ path: '/socket', status: 101 }]))
  await app.close()
})

test('a request whose client leaves is logged as aborted', async () => {
  const { app, url, lines } = await logged()
  const client = new AbortController()
  await fetch(`${url}/endless`, { signal: client.signal })
  client.abort()
  await eventually(() => expect(lines).toMatchObject([{ path: '/endless', status: 'aborted' }]))
  await app.close()
})

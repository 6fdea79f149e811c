import Fastify from 'fastify'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { observeRequests } from '../../src/http/plugins/observe-requests.ts'
import { eventually } from '../helpers/eventually.ts'

test("the operators' traffic counts calls of every version of the API, and what was refused before one, and nothing else", async () => {
  const counted: string[] = []
  const refused: Array<[keyId: string | null, code: string]> = []
  const app = Fastify({ logger: false })
  const add = ([[name]]: [[string, bigint]]) => void counted.push(name)
  await app.register(observeRequests, {
    registry: new Registry(),
    report: { finished: () => undefined, traffic: { add } } as never,
    refusals: { note: (sender, code) => void refused.push([sender?.keyId ?? null, code]) },
    pendingCalls: () => 0,
  })
  for (const route of ['/v1/chat/completions', '/v2/chat/completions', '/v2/v1/messages', '/admin/api/holds'])
    app.post(route, async () => 'done')
  app.get('/v2/models', async () => 'done')
  app.post('/v2/broken', async (request, reply) => {
    Object.assign(request, { errorCode: 'upstream_timeout', isAdmitted: true })
    return reply.code(504).send()
  })
  app.post('/v2/refused', async (request, reply) => {
    Object.assign(request, { errorCode: 'overloaded', sentKey: { accountId: 'acct_1', keyId: 'key_1' } })
    return reply.code(503).send()
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = (path: string) => fetch(`${url}${path}`, { method: 'POST' })

  for (const path of ['/v1/chat/completions', '/v2/chat/completions', '/v2/v1/messages'])
    expect((await post(path)).status).toBe(200)
  await post('/admin/api/holds')
  await fetch(`${url}/v2/models`)
  await post('/v2/refused')
  await eventually(() => expect(counted).toContain('errors:overloaded'))
  expect(counted).toEqual([...Array(3).fill('requests:2xx'), 'requests:5xx', 'errors:overloaded'])
  // A call that was admitted has a record, and is none that was refused.
  await post('/v2/broken')
  await eventually(() => expect(counted).toContain('errors:upstream_timeout'))
  expect(refused).toEqual([['key_1', 'overloaded']])
  await app.close()
})

import Fastify from 'fastify'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { observeRequests } from '../../src/http/plugins/observe-requests.ts'
import { eventually } from '../helpers/eventually.ts'

test("the operators' traffic counts calls of every version of the API, and nothing else", async () => {
  const counted: string[] = []
  const app = Fastify({ logger: false })
  const add = ([[name]]: [[string, bigint]]) => void counted.push(name)
  await app.register(observeRequests, {
    registry: new Registry(),
    report: { finished: () => undefined, traffic: { add } } as never,
    pendingCalls: () => 0,
  })
  for (const route of ['/v1/chat/completions', '/v2/chat/completions', '/v2/v1/messages', '/admin/api/holds'])
    app.post(route, async () => 'done')
  app.get('/v2/models', async () => 'done')
  app.post('/v2/refused', async (request, reply) => {
    request.errorCode = 'overloaded'
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
  await app.close()
})

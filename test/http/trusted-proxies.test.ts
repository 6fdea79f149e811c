import Fastify from 'fastify'
import pino from 'pino'
import { expect, test } from 'vitest'
import { warnOfUntrustedProxy } from '../../src/http/plugins/trusted-proxies.ts'

async function warnings(trustedProxies: string[], peers: Array<[peer: string, forwarded: boolean]>) {
  const lines: Array<Record<string, unknown>> = []
  const app = Fastify({ logger: false })
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await app.register(warnOfUntrustedProxy, { logger, limits: { trustedProxies } })
  app.get('/', async () => 'ok')
  for (const [remoteAddress, forwarded] of peers) {
    const headers = forwarded ? { 'x-forwarded-for': '203.0.113.9' } : {}
    expect((await app.inject({ url: '/', remoteAddress, headers })).statusCode).toBe(200)
  }
  await app.close()
  return lines
}

test('a proxy that is not trusted is warned about once, with its address', async () => {
  const lines = await warnings(
    [],
    [
      ['172.18.0.1', false],
      ['172.18.0.1', true],
      ['172.18.0.1', true],
    ],
  )
  expect(lines).toEqual([
    expect.objectContaining({ level: 40, peer: '172.18.0.1', msg: expect.stringMatching(/TRUSTED_PROXIES/) }),
  ])
})

test('a trusted proxy is not', async () => {
  expect(await warnings(['172.16.0.0/12'], [['172.18.0.1', true]])).toEqual([])
  expect(await warnings(['172.16.0.0/12'], [['192.0.2.7', true]])).toHaveLength(1)
})

import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import { afterEach, expect, test } from 'vitest'
import { checkPlatformKeys } from '../../src/catalog/check-platform-keys.ts'
import type { CatalogSnapshot } from '../../src/core/catalog/catalog.ts'
import { environmentKeys } from '../helpers/environment-keys.ts'

const SECRET = 'sk-platform-secret'

const servers: Server[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done)))))

async function listing(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  servers.push(server)
  await new Promise((done) => server.once('listening', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** The alarms and warnings of a check of one provider. */
async function checked(baseUrl: string, apiKeyEnv: string | null = 'ACME_API_KEY') {
  const lines: Array<Record<string, unknown>> = []
  const provider = { id: 'acme', wire: 'chat-completions', baseUrl, apiKeyEnv }
  const offers = new Map([
    ['acme/one', { provider }],
    ['acme/two', { provider }],
  ])
  await checkPlatformKeys({ offers } as unknown as CatalogSnapshot, {
    platformKeys: environmentKeys({ ACME_API_KEY: SECRET }),
    logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  })
  expect(JSON.stringify(lines)).not.toContain(SECRET)
  return lines
}

test('a provider that refuses the key raises one alarm that names the provider and the variable', async () => {
  const at = await listing((_, response) => response.writeHead(401).end())
  expect(await checked(at)).toMatchObject([
    {
      level: 50,
      alarm: 'platform-key-refused',
      subject: 'acme',
      reason: 'unauthorized',
      key: 'ACME_API_KEY',
    },
  ])
})

test('a key that is accepted or restricted, and a provider that needs none, raise nothing', async () => {
  const accepts = await listing((request, response) =>
    response.writeHead(request.headers.authorization === `Bearer ${SECRET}` ? 200 : 401).end('{"data":[]}'),
  )
  expect(await checked(accepts)).toEqual([])
  expect(await checked(await listing((_, response) => response.writeHead(403).end()))).toEqual([])
  const refuses = await listing((_, response) => response.writeHead(401).end())
  expect(await checked(refuses, null)).toEqual([])
})

test('a provider that cannot be reached is a warning, and no word against the key', async () => {
  expect(await checked('http://127.0.0.1:1/v1')).toMatchObject([{ level: 40, providerId: 'acme' }])
})

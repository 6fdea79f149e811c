import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { createByokKeyChecker } from '../../src/byok/byok-key-checker.ts'
import type { Provider } from '../../src/core/catalog/catalog.ts'
import { checkKey } from '../../src/providers/listings/check-key.ts'
import { provider as planned } from '../helpers/planned-catalog.ts'

const SECRET = 'sk-client-0123456789abcdef'
let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
})

async function provider(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  more: Partial<Provider> = {},
): Promise<Provider> {
  server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return planned('acme', { baseUrl: `http://127.0.0.1:${port}/v1`, apiKeyEnv: 'ACME_KEY', ...more })
}

const hasKey = ({ headers }: IncomingMessage) => headers.authorization === `Bearer ${SECRET}`
const check = (at: Provider) => checkKey(at, SECRET, AbortSignal.timeout(60_000))

describe('a BYOK key is tried at its provider', () => {
  test('and is accepted where the list of models opens with it, and not without', async () => {
    const at = await provider((request, response) => {
      expect(request.url).toBe('/v1/models')
      response.writeHead(hasKey(request) ? 200 : 401).end('{"data":[]}')
    })
    expect(await check(at)).toBe('accepted')
  })

  test.each([
    [401, '', 'unauthorized'],
    [402, '', 'payment_required'],
    [403, '', 'unknown'],
    [404, '', 'unknown'],
    [400, '{"error":{"details":[{"reason":"API_KEY_INVALID"}]}}', 'unauthorized'],
    [400, '{"error":{"message":"bad page"}}', 'unknown'],
    [503, '', 'unknown'],
    [200, '{"data":[]}', 'unknown'],
  ])('a %i %s says %s', async (status, body, found) => {
    expect(await check(await provider((_, response) => response.writeHead(status).end(body)))).toBe(found)
  })

  test('and follows no redirect, which would take the key along', async () => {
    let asked = 0
    const at = await provider((_, response) => {
      asked += 1
      response.writeHead(307, { location: '/elsewhere' }).end()
    })
    await expect(check(at)).rejects.toThrow()
    expect(asked).toBe(1)
  })
})

describe('the checker', () => {
  interface Written {
    keyId: string
    reception: unknown
  }
  function checker(deadlineMs = 10_000) {
    const written: Written[] = []
    const lines: string[] = []
    const made = createByokKeyChecker({
      postgres: {
        $executeRawUnsafe: (async (_: string, keyId: string, reception = 'accepted') => {
          written.push({ keyId, reception })
          return 1
        }) as never,
      },
      logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
      clock: () => 0,
      deadlineMs,
    })
    const tried = (at: Provider, id = 'pkey_1') => made.check({ id, accountId: 'acct_1', secret: SECRET }, at)
    return { tried, written, lines }
  }

  test('writes down what the provider said of the key', async () => {
    const { tried, written } = checker()
    expect(await tried(await provider((_, response) => response.writeHead(401).end()))).toBe(true)
    expect(written).toEqual([{ keyId: 'pkey_1', reception: 'unauthorized' }])
  })

  test('leaves a key unchecked, and never fails, when the provider is silent', async () => {
    const { tried, written, lines } = checker(200)
    expect(await tried(await provider(() => undefined))).toBe(false)
    expect(written).toEqual([])
    expect(lines.join('')).toContain('pkey_1')
    expect(lines.join('')).not.toContain(SECRET)
  })

  test('notes that the provider of a key cannot be reached', async () => {
    const { tried, written, lines } = checker()
    expect(await tried(planned('gone', { baseUrl: 'http://127.0.0.1:1/v1' }))).toBe(true)
    expect(written).toEqual([{ keyId: 'pkey_1', reception: 'unreachable' }])
    expect(lines.join('')).not.toContain(SECRET)
  })

  test('tries no more than twenty keys of an account in an hour', async () => {
    let asked = 0
    const at = await provider((_, response) => {
      asked += 1
      response.writeHead(401).end()
    })
    const { tried } = checker()
    const outcomes: boolean[] = []
    for (let key = 0; key < 22; key++) outcomes.push(await tried(at, `pkey_${key}`))
    expect(asked).toBe(20)
    expect(outcomes.slice(20)).toEqual([false, false])
  })
})

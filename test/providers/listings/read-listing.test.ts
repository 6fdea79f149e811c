import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Offer, Provider } from '../../../src/core/catalog/catalog.ts'
import { checkListedPrice } from '../../../src/providers/check/listed-price.ts'
import { readListing } from '../../../src/providers/listings/read-listing.ts'

const KEY = 'a-secret-key'
let server: Server

afterEach(() => {
  server.close()
})

/** A provider whose server answers what `answer` says of a request. */
async function provider(
  answer: (request: IncomingMessage) => { status?: number; body: unknown },
  more: Partial<Provider> = {},
): Promise<Provider> {
  server = createServer((request, response) => {
    const { status = 200, body } = answer(request)
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    id: 'acme',
    name: 'Acme',
    wire: 'chat-completions',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    apiKeyEnv: 'ACME_KEY',
    zdr: false,
    dataCollection: 'allow',
    limitParameter: 'max_tokens',
    ...more,
  }
}

describe('a list of models is read', () => {
  test('on the chat-completions wire, with the bearer key, without the prefix that one maker puts before names', async () => {
    const at = await provider(({ url, headers }) => {
      expect([url, headers.authorization]).toEqual(['/v1/models', `Bearer ${KEY}`])
      return { body: { data: [{ id: 'one' }, { id: 'models/two' }, { name: 'no id' }, null] } }
    })
    expect([...(await readListing(at, KEY))]).toEqual(['one', 'two'])
  })

  test("with a provider's own header for the key", async () => {
    const at = await provider(
      ({ headers }) => {
        expect([headers['api-key'], headers.authorization]).toEqual([KEY, undefined])
        return { body: [{ id: 'one' }] }
      },
      { quirks: { authHeader: 'api-key' } },
    )
    expect((await readListing(at, KEY)).size).toBe(1)
  })

  test('on the messages wire, page by page', async () => {
    const at = await provider(
      ({ url = '', headers }) => {
        expect([headers['x-api-key'], headers['anthropic-version']]).toEqual([KEY, '2023-06-01'])
        const isFirst = !url.includes('after_id=a')
        return { body: { data: [{ id: isFirst ? 'a' : 'b' }], has_more: isFirst, last_id: 'a' } }
      },
      { wire: 'anthropic-messages' },
    )
    expect([...(await readListing(at, KEY))]).toEqual(['a', 'b'])
  })

  test('on the generate-content wire, page by page', async () => {
    const at = await provider(
      ({ url = '', headers }) => {
        expect(headers['x-goog-api-key']).toBe(KEY)
        return url.includes('pageToken=t')
          ? { body: { models: [{ name: 'models/b' }] } }
          : { body: { models: [{ name: 'models/a' }], nextPageToken: 't' } }
      },
      { wire: 'google-generate-content' },
    )
    expect([...(await readListing(at, KEY))]).toEqual(['a', 'b'])
  })

  test('to a bounded number of pages', async () => {
    let pages = 0
    const at = await provider(
      () => {
        pages += 1
        return { body: { models: [{ name: `models/${pages}` }], nextPageToken: 'again' } }
      },
      { wire: 'google-generate-content' },
    )
    expect((await readListing(at, KEY)).size).toBe(20)
  })
})

test.each([
  ['refuses', { status: 401, body: 'no' }, /returned 401/],
  ['answers no JSON', { body: '<html>' }, /no JSON/],
  ['answers no list', { body: { error: 'x' } }, /no list/],
])('a provider that %s is a readable error without the key', async (_what, answer, message) => {
  const at = await provider(() => answer)
  const error = await readListing(at, KEY).then(
    () => null,
    (caught: Error) => caught,
  )
  expect(error?.message).toMatch(message)
  expect(JSON.stringify({ ...error, message: error?.message })).not.toContain(KEY)
})

test.each([
  ['a token', { pricing: { prompt: '0.0000018', completion: '0.000007' } }, 'ok'],
  ['a million tokens', { pricing: { input: 1.8, output: 7 } }, 'ok'],
  ['beside other data', { metadata: { pricing: { input_tokens: 1.8, output_tokens: 7 } } }, 'ok'],
  ['that the catalog has not', { pricing: { input: 1.5, output: 7 } }, 'differs'],
  ['without a completion', { pricing: { prompt: '0.0000018' } }, 'left out'],
  ['of nothing', {}, 'left out'],
])('listed prices %s are compared with the catalog', async (_, entry, result) => {
  const at = await provider(() => ({ body: { data: [{ id: 'other' }, { id: 'one', ...entry }] } }))
  const cost = { prompt: 1_800_000n, completion: 7_000_000n }
  const offer = { provider: at, upstreamModel: 'one', cost } as Offer
  expect(await checkListedPrice(offer, KEY)).toMatchObject({ feature: 'prices', result })
  expect((await checkListedPrice({ ...offer, upstreamModel: 'none' }, KEY)).result).toBe('left out')
})

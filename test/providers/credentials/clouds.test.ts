import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NativeContent } from '../../../src/core/calls/messages-request.ts'
import type { Provider, Wire } from '../../../src/core/catalog/catalog.ts'
import { createSign } from '../../../src/providers/credentials/create-sign.ts'
import { checkKey } from '../../../src/providers/listings/check-key.ts'
import {
  createProviderClients,
  createTransport,
  type Transport,
} from '../../../src/providers/provider-clients.ts'
import type { AttemptRequest } from '../../../src/providers/wire.ts'
import { WIRE_MAPPINGS } from '../../../src/providers/wires.ts'
import {
  AWS_ACCESS_KEY_ID,
  AWS_SECRET,
  AWS_SESSION_TOKEN,
  AZURE_APPLICATION,
  AZURE_KEY,
  BEDROCK_API_KEY,
} from '../../../tools/simulated-providers/clouds/cloud-access.ts'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../../tools/simulated-providers/start-simulated-providers.ts'
import { offerAt } from '../../helpers/scripted-provider.ts'

let providers: SimulatedProviders
let transport: Transport
/** The file of the service account that the simulated cloud knows. */
let account: string

beforeAll(async () => {
  providers = await startSimulatedProviders()
  transport = createTransport({ connectTimeoutMs: 30_000 })
  account = providers.clouds.serviceAccount()
})
afterAll(async () => {
  await transport.close()
  await providers.close()
})

type Place = Pick<Provider, 'wire' | 'credentials' | 'quirks'> & { base: string }

const place = (wire: Wire, base: string, credentials: Provider['credentials'], more = {}): Place => ({
  ...{ wire, base, ...more },
  ...(credentials && { credentials }),
})
const tokensOf = (cloud: string) => `${providers.url}/acme/${cloud}/token`
const AZURE_PATH = '/openai/deployments/{model}/chat/completions?api-version=2024-10-21'
const PLACES = {
  azure: () =>
    place(
      'chat-completions',
      'azure',
      { kind: 'azure', tokenUrl: `${tokensOf('azure')}/{tenant}` },
      { quirks: { path: AZURE_PATH } },
    ),
  gemini: () =>
    place('google-generate-content', 'google/publishers/google', {
      kind: 'google',
      tokenUrl: tokensOf('google'),
    }),
  vertex: () =>
    place('anthropic-messages', 'google/publishers/anthropic', {
      kind: 'google',
      tokenUrl: tokensOf('google'),
    }),
  bedrock: () => place('anthropic-messages', 'aws', { kind: 'aws', region: 'us-east-1' }),
}
const { tenant, client, secret } = AZURE_APPLICATION
const KEYS: Array<[where: keyof typeof PLACES, what: string, key: () => string]> = [
  ['azure', 'a key', () => AZURE_KEY],
  ['azure', 'an application', () => `${tenant}:${client}:${secret}`],
  ['gemini', 'a service account', () => account],
  ['vertex', 'a service account in base64', () => Buffer.from(account).toString('base64')],
  ['bedrock', 'an access key', () => `${AWS_ACCESS_KEY_ID}:${AWS_SECRET}`],
  ['bedrock', 'an access key of a session', () => `${AWS_ACCESS_KEY_ID}:${AWS_SECRET}:${AWS_SESSION_TOKEN}`],
  ['bedrock', 'an API key', () => BEDROCK_API_KEY],
]

const clientsWith = (key: string | null) =>
  createProviderClients({
    ...{ wires: WIRE_MAPPINGS, transport, connectTimeoutMs: 30_000 },
    sign: createSign(Date.now),
    ourKey: () => key,
    now: Date.now,
  })

function requestTo(where: Place, changes: Partial<AttemptRequest> = {}): AttemptRequest {
  const { base, ...more } = where
  const offer = offerAt(`${providers.url}/acme/${base}`)
  return {
    offer: {
      ...offer,
      upstreamModel: 'sim-words-7',
      provider: { ...offer.provider, ...more },
    },
    content: { kind: 'chat', messages: [{ role: 'user', content: 'Where do trains wait?' }], parameters: {} },
    ...{ accountId: 'acct_1', completionLimit: 512, signal: new AbortController().signal },
    limits: { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 },
    ...changes,
  }
}

async function ask(where: Place, key: string | null, changes?: Partial<AttemptRequest>) {
  let text = ''
  const outcome = await clientsWith(key)(where.wire).attempt(requestTo(where, changes), (event) => {
    if (event[0] === 'text') text += event[1]
    if (event[0] === 'native') text += JSON.stringify(event[1])
  })
  return { outcome, text }
}

const FINISHED = { kind: 'finished', reason: 'stop', usage: { completionTokens: 7 } }

describe('a cloud', () => {
  test.each(KEYS)('%s is called with %s', async (where, _, key) => {
    const { outcome, text } = await ask(PLACES[where](), key())
    expect(outcome).toMatchObject(FINISHED)
    expect(text.split(' ')).toHaveLength(7)
  })

  test.each(KEYS)('%s refuses what is not %s, and its message has no part of it', async (where, _, key) => {
    const wrong = key().replace(/[0-9a-z](?=[^0-9a-z]*$)/, (last) => (last === 'x' ? 'y' : 'x'))
    const { outcome } = await ask(PLACES[where](), wrong)
    expect(outcome).toMatchObject({ kind: 'failed', failure: { kind: 'refused' } })
    const said = JSON.stringify(outcome)
    for (const part of wrong.split(':').filter((each) => each.length > 12)) expect(said).not.toContain(part)
  })

  test('gets the deployment in the path, and the version of its API', async () => {
    await ask(PLACES.azure(), AZURE_KEY)
    expect(providers.log.requests.at(-1)).toMatchObject({
      path: '/acme/azure/openai/deployments/sim-words-7/chat/completions?api-version=2024-10-21',
    })
  })

  test('of an unknown kind of key fails before it is asked', async () => {
    const before = providers.log.requests.length
    const file = JSON.stringify({ type: 'service_account', client_email: 'someone' })
    const outcomes = [
      await ask(PLACES.gemini(), file),
      await ask(PLACES.bedrock(), null, { apiKey: '' }),
      await ask(
        { ...PLACES.gemini(), credentials: { kind: 'google', tokenUrl: 'http://127.0.0.1:9' } },
        account,
      ),
    ].map(({ outcome }) => (outcome.kind === 'failed' ? outcome.failure.kind : outcome.kind))
    expect(outcomes).toEqual(['refused', 'refused', 'connect'])
    expect(providers.log.requests.length - before).toBeLessThanOrEqual(1)
  })

  test('exchanges a key once for all calls that come at a time', async () => {
    const before = providers.clouds.issuedTokens()
    const clients = clientsWith(account)
    const calls = Array.from({ length: 5 }, () =>
      clients('google-generate-content').attempt(requestTo(PLACES.gemini()), () => undefined),
    )
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(Array(5).fill('finished'))
    expect(providers.clouds.issuedTokens() - before).toBe(1)
  })

  test('exchanges a key at its own `token_uri` only where that is the provider itself', async () => {
    const where = { ...PLACES.gemini(), credentials: { kind: 'google' as const } }
    const { outcome } = await ask(where, providers.clouds.serviceAccount(tokensOf('google')))
    expect(outcome).toMatchObject(FINISHED)
  })

  test('is relayed a call of the messages wire, with its features where the cloud has them', async () => {
    const content: NativeContent = {
      kind: 'native',
      betas: ['context-management-2025-06-27'],
      messages: [],
      parameters: {},
      request: {
        messages: [{ role: 'user', content: 'Where?' }],
        context_management: { edits: [] },
      },
    } as never
    for (const [where, key] of [
      ['vertex', account],
      ['bedrock', BEDROCK_API_KEY],
    ] as const) {
      const { outcome, text } = await ask(PLACES[where](), key, { content })
      expect(outcome).toMatchObject(FINISHED)
      expect(text).toContain('"text_delta"')
    }
    expect(
      providers.log.requests.slice(-2).map(({ headers, body }) => [headers['anthropic-beta'], body]),
    ).toMatchObject([
      ['context-management-2025-06-27', { anthropic_version: 'vertex-2023-10-16', stream: true }],
      [
        undefined,
        { anthropic_version: 'bedrock-2023-05-31', anthropic_beta: ['context-management-2025-06-27'] },
      ],
    ])
  })

  test.each([
    ['sim-error-event-2', 'server-error'],
    ['sim-cut-after-2', 'broken-stream'],
    ['sim-malformed-event', 'finished'],
    ['sim-status-429', 'rate-limited'],
    ['sim-status-400-context', 'context-length'],
  ])('of AWS whose model is %s ends as %s', async (upstreamModel, expected) => {
    const request = requestTo(PLACES.bedrock())
    const offer = { ...request.offer, upstreamModel }
    const { outcome } = await ask(PLACES.bedrock(), BEDROCK_API_KEY, { offer })
    expect(outcome.kind === 'failed' ? outcome.failure.kind : outcome.kind).toBe(expected)
  })

  test('checks a key by its exchange, as it has no list of models', async () => {
    const check = (where: Place, key: string) =>
      checkKey(requestTo(where).offer.provider, key, AbortSignal.timeout(30_000))
    expect([
      await check(PLACES.gemini(), account),
      await check(PLACES.gemini(), account.replace('gateway@', 'other@')),
      await check(PLACES.azure(), `${tenant}:${client}:${secret}`),
      await check(PLACES.azure(), `${tenant}:${client}:other`),
      await check(PLACES.azure(), AZURE_KEY),
      await check(PLACES.bedrock(), BEDROCK_API_KEY),
    ]).toEqual(['accepted', 'unauthorized', 'accepted', 'unauthorized', 'unknown', 'unknown'])
  })
})

import pino from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createAttemptChain } from '../../../../src/calls/worker/attempts/attempt-chain.ts'
import type { PlatformKey } from '../../../../src/catalog/platform-keys.ts'
import type { Candidate } from '../../../../src/core/calls/call-job.ts'
import type { Offer } from '../../../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../../../src/core/kernel/money.ts'
import type { BreakerBoard } from '../../../../src/offer-health/circuit-breaker/breaker-board.ts'
import { KeyBoard } from '../../../../src/offer-health/key-board.ts'
import { KeyHealth } from '../../../../src/offer-health/key-health.ts'
import type { RetryBudget } from '../../../../src/offer-health/retry-budget.ts'
import type { Logger } from '../../../../src/platform/observability/logger.ts'
import { createSign } from '../../../../src/providers/credentials/create-sign.ts'
import {
  createProviderClients,
  createTransport,
  type Transport,
} from '../../../../src/providers/provider-clients.ts'
import { WIRE_MAPPINGS } from '../../../../src/providers/wires.ts'
import { candidateOf, chatOf, envelopeOf, runningOf } from '../../../helpers/call-shapes.ts'
import { PATIENT, UNMEASURED } from '../../../helpers/chain-parts.ts'
import { snapshot } from '../../../helpers/planned-catalog.ts'
import {
  offerAt,
  type ScriptedProvider,
  startScriptedProvider,
  streams,
  wholeStream,
} from '../../../helpers/scripted-provider.ts'
import { fakeRedis, stubOf } from '../../../helpers/stub-of.ts'

interface Refusal {
  status: number
  headers?: Record<string, string>
  message?: string
}

let transport: Transport
let alpha: ScriptedProvider
let beta: ScriptedProvider
let nowMs: number
let health: KeyHealth
let keys: KeyBoard
/** What was sent to Redis about keys. */
let published: unknown[]
/** Lines with an alarm or the end of one. */
let alarms: Array<Record<string, unknown>>
let log: string
let logger: Logger
/** What alpha says to requests with a secret; those without an entry are served. */
let refused: Record<string, Refusal | Record<string, string>>
/** The secrets that alpha was asked with. */
let asked: string[]

const key = (id: string, changes: Partial<PlatformKey> = {}): PlatformKey => ({
  id,
  weight: 1,
  source: 'stored',
  secret: `secret-of-${id}`,
  state: 'active',
  requestsPerMinute: null,
  tokensPerMinute: null,
  usdPerDay: null,
  usdPerMonth: null,
  ...changes,
})

/** A conversation whose keys are, in its order, `one` and `two`. */
const ON_ONE = 1

beforeEach(async () => {
  transport = createTransport({ connectTimeoutMs: 30_000 })
  alpha = await startScriptedProvider()
  beta = await startScriptedProvider()
  nowMs = 1_000_000
  published = []
  alarms = []
  log = ''
  refused = {}
  asked = []
  logger = pino(
    { level: 'trace' },
    {
      write(line: string) {
        log += line
        const fields = JSON.parse(line)
        if (fields.alarm || fields.alarmsOver) alarms.push(fields)
      },
    },
  )
  health = new KeyHealth(() => nowMs)
  keys = new KeyBoard({
    redis: fakeRedis({
      pipeline: () => {
        const pipeline = {
          hset: () => pipeline,
          hdel: () => pipeline,
          publish(_: string, message: string) {
            published.push(JSON.parse(message))
            return pipeline
          },
          exec: async () => [],
        }
        return pipeline
      },
    }),
    health: { keys: health, fleetNow: () => nowMs },
    breakerCooldownMs: 15_000,
    logger,
  })
  beta.play(streams(wholeStream('Hello')))
  alpha.play((response, { headers, ...request }) => {
    const secret = String(headers.authorization).replace('Bearer ', '')
    asked.push(secret.replace('secret-of-', ''))
    const said = refused[secret.replace('secret-of-', '')]
    if (said && 'status' in said && typeof said.status === 'number') {
      response.writeHead(said.status, { 'content-type': 'application/json', ...(said.headers as object) })
      response.end(JSON.stringify({ error: { message: said.message ?? 'no' } }))
    } else {
      for (const [name, value] of Object.entries(said ?? {})) response.setHeader(name, value)
      return streams(wholeStream('Hello'))(response, { headers, ...request })
    }
  })
})
afterEach(async () => {
  await Promise.all([transport.close(), alpha.close(), beta.close()])
})

/** A call to a model at alpha, with several keys there, and at beta. */
async function run({
  pool = [key('one'), key('two')],
  offers = ['alpha/large', 'beta/large'],
  candidates,
  isBudgetLeft = true,
  changes = {},
}: {
  pool?: PlatformKey[]
  offers?: string[]
  candidates?: Array<Partial<Candidate>>
  isBudgetLeft?: boolean
  changes?: Partial<Offer>
} = {}) {
  const report = vi.fn()
  const catalog = snapshot(
    [],
    offers.map((id) => offerAt(id.startsWith('alpha') ? alpha.baseUrl : beta.baseUrl, changes, id)),
  )
  const chain = createAttemptChain({
    ...UNMEASURED,
    byokKeys: {
      open: async ({ keyId }) => ({ kind: 'opened', secret: `secret-of-${keyId}` }),
      note: () => undefined,
    },
    catalog: () => catalog,
    providers: createProviderClients({
      sign: createSign(Date.now),
      ...{ wires: WIRE_MAPPINGS, transport, connectTimeoutMs: 30_000, now: () => nowMs },
      ourKey: () => 'secret-of-only',
      ourSecrets: () => pool.map(({ secret }) => secret),
    }),
    board: stubOf<BreakerBoard>({ health: () => ({ kind: 'ready' }), claimProbe: async () => null, report }),
    keys: { board: keys, platformKeys: { pool: ({ id }) => (id === 'alpha' ? pool : [key('only')]) } },
    budget: stubOf<RetryBudget>({ countCall: () => undefined, ask: async () => isBudgetLeft }),
    settings: PATIENT,
    logger,
    now: () => nowMs,
    random: () => 0,
  })
  const parts = candidates ?? offers.map((offerId) => ({ offerId }))
  const envelope = envelopeOf({
    stream: false,
    candidates: parts.map((part) => candidateOf(part)),
    affinity: ON_ONE,
    callDeadlineAt: nowMs + 60_000,
    holdPico: '1000000',
  })
  const outcome = await chain(runningOf(envelope, chatOf()))
  const attempts = outcome.attempts.map(({ offerId, outcome: end, platformKeyId, providerKeyId }) =>
    [offerId, end, platformKeyId ?? providerKeyId].join(' '),
  )
  return { outcome, attempts, effects: report.mock.calls.map(([offerId, { kind }]) => `${offerId} ${kind}`) }
}

test.each([401, 402, 403])(
  'a %i of one key is answered by the next key of the same offer',
  async (status) => {
    refused.one = { status }
    const { attempts, effects, outcome } = await run({ isBudgetLeft: false })
    expect(outcome.status).toBe('completed')
    expect(attempts).toEqual(['alpha/large refused one', 'alpha/large ok two'])
    // The provider and its offer are not blamed.
    expect(effects).toEqual(['alpha/large none', 'alpha/large success'])
    const subject = status === 403 ? 'alpha/large#key:one' : 'alpha/#key:one'
    expect(alarms).toEqual([expect.objectContaining({ alarm: 'provider-refused', subject })])
    expect(published).toEqual([['key', subject, expect.stringMatching(/^refused:/)]])

    asked = []
    await run()
    expect(asked).toEqual(['two'])
  },
)

test('a 429 rests its key until the time that its provider says, and no longer', async () => {
  refused.one = { status: 429, headers: { 'retry-after': '30', 'retry-after-ms': '29500' } }
  const { attempts, effects } = await run()
  expect(attempts).toEqual(['alpha/large rate-limited one', 'alpha/large ok two'])
  expect(effects).toEqual(['alpha/large none', 'alpha/large success'])
  refused = {}
  nowMs += 29_499
  expect((await run()).attempts).toEqual(['alpha/large ok two'])
  nowMs += 1
  expect((await run()).attempts).toEqual(['alpha/large ok one'])
})

test('a 429 without Retry-After rests its key until the reset of its limit', async () => {
  refused.one = { status: 429, headers: { 'x-ratelimit-reset-requests': '7s' } }
  await run()
  expect(keys.backMs('alpha/large', key('one'))).toBe(7_000)
})

test('a key whose answers say that it is near its limit is passed over until its reset', async () => {
  refused.one = { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '20s' }
  expect((await run()).attempts).toEqual(['alpha/large ok one'])
  expect((await run()).attempts).toEqual(['alpha/large ok two'])
  // Also for the other models of the provider.
  expect((await run({ offers: ['alpha/small'] })).attempts).toEqual(['alpha/small ok two'])
  refused.two = { status: 401 }
  expect((await run()).attempts).toEqual(['alpha/large refused two', 'alpha/large ok one'])
  nowMs += 20_000
  refused = {}
  expect((await run()).attempts).toEqual(['alpha/large ok one'])
})

test('when no key of an offer is left the next offer serves, and the offer is known to be limited until the first is back', async () => {
  refused.one = { status: 429, headers: { 'retry-after': '50' } }
  refused.two = { status: 429, headers: { 'retry-after': '20' } }
  const { attempts } = await run()
  expect(attempts).toEqual(['alpha/large rate-limited one', 'alpha/large rate-limited two', 'beta/large ok '])
  asked = []
  expect((await run()).attempts).toEqual(['beta/large ok '])
  expect(asked).toEqual([])
  const alone = await run({ offers: ['alpha/large'] })
  expect(alone.outcome).toMatchObject({ error: { code: 'no_provider_available', retryAfterSeconds: 20 } })
})

test('the refusal of the last key is reported of the offer, as that of an only key', async () => {
  refused = { one: { status: 401 }, two: { status: 401 } }
  const { attempts, effects } = await run()
  expect(attempts.slice(0, 2)).toEqual(['alpha/large refused one', 'alpha/large refused two'])
  expect(effects.slice(0, 2)).toEqual(['alpha/large none', 'alpha/large refused'])
})

test('a refused key is tried by one call once its time is over, and is as any other after it was taken', async () => {
  refused.one = { status: 401 }
  await run()
  nowMs += 90_000
  expect(keys.standing('alpha/large', key('one'))).toBe('ready')
  expect((await run()).attempts).toEqual(['alpha/large refused one', 'alpha/large ok two'])
  // Twice as long.
  nowMs += 179_999
  expect((await run()).attempts).toEqual(['alpha/large ok two'])
  nowMs += 1
  refused = {}
  keys.take('alpha/large', key('one'))
  expect((await run()).attempts).toEqual(['alpha/large ok two'])
  nowMs += 30_000
  expect((await run()).attempts).toEqual(['alpha/large ok one'])
  expect(published.at(-1)).toEqual(['key', 'alpha/#key:one', ''])
  expect(alarms.at(-1)).toMatchObject({
    subject: 'alpha/#key:one',
    alarmsOver: ['breaker-opened', 'provider-refused'],
  })
})

test('a server error and a 404 are not answered by another key', async () => {
  for (const status of [404, 500]) {
    refused.one = { status }
    const { attempts } = await run()
    expect(attempts[1]).toBe('beta/large ok ')
  }
  expect(published).toEqual([])
})

test('attempts that a list of models needs are not spent on keys', async () => {
  const pool = ['one', 'two', 'three', 'four', 'five'].map((id) => key(id))
  for (const { id } of pool) refused[id] = { status: 401 }
  const candidates = [
    { offerId: 'alpha/large', modelId: 'large' },
    { offerId: 'beta/large', modelId: 'small' },
  ]
  const { attempts, outcome } = await run({ pool, candidates })
  expect(attempts).toHaveLength(4)
  expect(attempts.at(-1)).toBe('beta/large ok ')
  expect(outcome.status).toBe('completed')
})

test('a call that goes well takes no command of keys, and a provider with one key has none', async () => {
  await run()
  refused.only = { status: 401 }
  const { attempts } = await run({ pool: [key('only')] })
  expect(attempts[0]).toBe('alpha/large refused ')
  expect(published).toEqual([])
})

test('no message has the secret of any key of its provider', async () => {
  refused.one = { status: 401, message: 'not secret-of-one, use secret-of-two' }
  const { outcome } = await run()
  expect(outcome.attempts[0]?.providerMessage).toBe('not [key], use [key]')
  expect(log).not.toContain('secret-of-')
})

test('BYOK keys keep their order, and one that rests is passed over while another is ready', async () => {
  const candidates = ['pkey_1', 'pkey_2'].map((providerKeyId) => ({ offerId: 'alpha/large', providerKeyId }))
  refused.pkey_1 = { status: 429, headers: { 'retry-after': '30' } }
  expect((await run({ candidates })).attempts).toEqual([
    'alpha/large rate-limited pkey_1',
    'alpha/large ok pkey_2',
  ])
  expect((await run({ candidates })).attempts).toEqual(['alpha/large ok pkey_2'])
  refused.pkey_2 = { status: 401 }
  await run({ candidates })
  // None is ready: they are tried in their order, as an only one is.
  asked = []
  await run({ candidates })
  expect(asked[0]).toBe('pkey_1')
  expect(alarms).toEqual([])
})

test('a key takes no more calls in a minute than its limits, also if it is the only one', async () => {
  const pool = [key('one', { requestsPerMinute: 2 }), key('two', { tokensPerMinute: 18 })]
  nowMs = 60_000_000
  const served: string[] = []
  for (let call = 0; call < 4; call++) served.push((await run({ pool })).attempts[0]!)
  // The usage of a call is 18 tokens.
  expect(served).toEqual(['alpha/large ok one', 'alpha/large ok one', 'alpha/large ok two', 'beta/large ok '])
  nowMs += 59_999
  expect((await run({ pool: pool.slice(0, 1) })).attempts).toEqual(['beta/large ok '])
  nowMs += 1
  expect((await run({ pool: pool.slice(0, 1) })).attempts).toEqual(['alpha/large ok one'])
})

test('a key takes no more calls in a day than its quota in USD, and an alarm says once that none is left', async () => {
  const pool = [key('one', { usdPerDay: 2 }), key('two', { usdPerMonth: 1 })]
  // 18 tokens cost 1.80 USD.
  const tenCents = picoUsdPerToken(100_000_000_000n)
  const changes = { cost: { prompt: tenCents, completion: tenCents } }
  nowMs = Date.parse('2026-11-28T23:00:00Z')
  const served: string[] = []
  for (let call = 0; call < 5; call++) served.push((await run({ pool, changes })).attempts[0]!)
  expect(served).toEqual([
    ...['alpha/large ok one', 'alpha/large ok one', 'alpha/large ok two'],
    ...['beta/large ok ', 'beta/large ok '],
  ])
  expect(alarms).toEqual([
    expect.objectContaining({
      ...{ alarm: 'platform-keys-resting', subject: 'alpha/large', until: '2026-11-29T00:00:00.000Z' },
    }),
  ])
  nowMs = Date.parse('2026-11-29T00:00:00Z')
  expect((await run({ pool, changes })).attempts).toEqual(['alpha/large ok one'])
  nowMs = Date.parse('2026-12-01T00:00:00Z')
  expect((await run({ pool: pool.slice(1), changes })).attempts).toEqual(['alpha/large ok two'])
})

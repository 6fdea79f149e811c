import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RecordedRequest } from '../../tools/simulated-providers/request-log.ts'
import { eventually, onBusyMachine } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { getAs } from '../helpers/requests.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { caller, completionOf, expectError } from '../http/wire.ts'

const OUR_KEY = 'sk-ours-0123456789abcdef'
const newSecret = () => `sk-client-${randomBytes(16).toString('hex')}`

const MAY_MANAGE_KEYS = { scopes: ['provider_keys'] }

let stack: TestStack
let key: string
let accountId: string

beforeAll(async () => {
  vi.stubEnv('BYOK_TEST_ALPHA_KEY', OUR_KEY)
  vi.stubEnv('BYOK_TEST_BETA_KEY', OUR_KEY)
  stack = await startStack({
    models: {
      'own/plain': [
        { at: 'alpha', model: 'words-12.auth' },
        { at: 'beta', model: 'words-12.auth.tag-beta' },
      ],
      'own/unheld': [{ at: 'gamma', model: 'words-12.auth.tag-gamma' }],
      'own/broken-words': [
        { at: 'alpha', model: 'words-12.tag-rescue.cut-after-5' },
        { at: 'beta', model: 'words-12.tag-rescue' },
      ],
      ...Object.fromEntries(
        [401, 402, 429].map((status) => [
          `own/status-${status}`,
          [
            { at: 'alpha', model: `words-12.status-${status}` },
            { at: 'beta', model: `words-12.tag-after-${status}` },
          ],
        ]),
      ),
    },
    providerKeyNames: {
      alpha: 'BYOK_TEST_ALPHA_KEY',
      beta: 'BYOK_TEST_BETA_KEY',
      gamma: 'BYOK_TEST_UNSET_KEY',
    },
    environment: { RETRY_BUDGET_FLOOR: '10000' },
    databaseProxy: true,
  })
})
beforeEach(async () => {
  stack.providers.log.clear()
  ;({ key, accountId } = await stack.account('1.00', MAY_MANAGE_KEYS))
})
afterEach(() => stack?.databaseProxy?.restore())
afterAll(async () => {
  await stack?.close()
  vi.unstubAllEnvs()
})

const manage = (method: string, path = '', body?: unknown, by = key) =>
  fetch(`${stack.url}/v1/provider-keys${path}`, {
    method,
    headers: {
      authorization: `Bearer ${by}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

async function store(provider: string, more: Record<string, unknown> = {}) {
  const secret = newSecret()
  const response = await manage('POST', '', { provider, key: secret, ...more })
  expect(response.status).toBe(201)
  const { id } = (await response.json()) as { id: string }
  return { id, secret }
}

const seen = (): Array<[provider: string, key: string | undefined]> =>
  stack.providers.log.requests.map((request: RecordedRequest) => [
    request.provider,
    request.headers.authorization?.replace('Bearer ', ''),
  ])

async function generation(id: string) {
  const response = await getAs(key, `${stack.url}/v1/generations/${id}`)
  expect(response.status).toBe(200)
  return (await response.json()) as {
    byok: boolean
    provider_key_id: string | null
    provider_key_failures: unknown[]
    cost_usd: string
    rates: { prompt: string; completion: string }
    usage: { prompt_tokens: number; completion_tokens: number }
  }
}

const chat = (body: Record<string, unknown>) => caller(stack, { key })({ max_tokens: 100, ...body })
const balance = async () =>
  (await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })).balancePico

describe("a call on the client's BYOK key", () => {
  test('goes to the provider with that key, and costs the fee to the last pico-dollar', async () => {
    const own = await store('alpha')
    const answers = await Promise.all([
      chat({ model: 'own/plain' }),
      chat({ model: 'own/plain', stream: true }),
    ])
    const { id, usage } = await completionOf(answers[0]!)
    expect(await answers[1]!.text()).toContain('[DONE]')
    expect(seen()).toEqual([
      ['alpha', own.secret],
      ['alpha', own.secret],
    ])
    // Listed are 1 and 2 dollars a million; the fee is 5 % of it.
    const shown = await generation(id)
    expect(shown).toMatchObject({
      byok: true,
      provider_key_id: own.id,
      rates: { prompt: '0.05', completion: '0.10' },
    })
    const fee = BigInt(usage!.prompt_tokens) * 50_000n + BigInt(usage!.completion_tokens) * 100_000n
    await stack.settled(accountId)
    const records = await stack.postgres.callRecord.findMany({ where: { accountId } })
    expect(records.find((record) => record.id === id)).toMatchObject({
      chargePico: fee,
      isByok: true,
      promptCostPico: 0n,
      completionCostPico: 0n,
    })
    const charged = records.reduce((sum, record) => sum + record.chargePico, 0n)
    expect(await balance()).toBe(1_000_000_000_000n - charged)
    const fees = await stack.postgres.ledgerEntry.findMany({
      where: { transactionId: { in: records.map((record) => record.id) }, ledgerAccount: 'byok_fees' },
    })
    expect(fees.reduce((sum, entry) => sum + entry.amountPico, 0n)).toBe(charged)
    await expectLedgerInOrder(stack)
  })

  test('a BYOK key reaches a model without a platform key', async () => {
    await expectError(await chat({ model: 'own/unheld' }), 503, 'no_provider_available')
    const own = await store('gamma')
    await completionOf(await chat({ model: 'own/unheld' }))
    expect(seen()).toEqual([['gamma', own.secret]])
  })

  test('never uses the key of another account', async () => {
    await store('alpha')
    const other = await stack.account('1.00', MAY_MANAGE_KEYS)
    await completionOf(await caller(stack, other)({ model: 'own/plain', provider: { only: ['alpha'] } }))
    expect(seen()).toEqual([['alpha', OUR_KEY]])
  })
})

describe('a key that fails', () => {
  test.each([
    [401, 502, 'all_providers_failed', 'refused'],
    [429, 503, 'no_provider_available', 'rate limited'],
  ])(
    '%i without fallback is a %i that names the key, and costs nothing',
    async (status, told, code, word) => {
      const own = await store('alpha')
      const error = await expectError(await chat({ model: `own/status-${status}` }), told, code)
      expect(error.message).toContain(`${own.id} `)
      expect(error.message).toContain(word)
      expect(new Set(seen().map(([, used]) => used))).toEqual(new Set([own.secret]))
      await stack.settled(accountId)
      expect(await balance()).toBe(1_000_000_000_000n)
    },
  )

  test.each([
    [401, 'unauthorized'],
    [429, 'rate_limited'],
  ])(
    '%i with fallback uses shared capacity at the listed rate, visibly for the owner, and leaves its health alone',
    async (status, reason) => {
      const own = await store('alpha', { allow_fallback: true })
      for (let call = 0; call < 4; call++) {
        stack.providers.log.clear()
        const model = `own/status-${status}`
        const { id, usage } = await completionOf(await chat({ model, provider: { order: ['beta'] } }))
        expect(seen()).toEqual([
          ['alpha', own.secret],
          ['beta', OUR_KEY],
        ])
        const shown = await generation(id)
        expect(shown).toMatchObject({ byok: false, rates: { prompt: '1.00', completion: '2.00' } })
        expect(shown.provider_key_failures).toEqual([
          { provider_key_id: own.id, reason, http_status: status },
        ])
        expect(usage).toBeDefined()
      }
      // Were our own key refused there, nobody would be sent there for a while.
      stack.providers.log.clear()
      const other = await stack.account('1.00', MAY_MANAGE_KEYS)
      await completionOf(await caller(stack, other)({ model: 'own/plain', provider: { order: ['alpha'] } }))
      expect(seen()).toEqual([['alpha', OUR_KEY]])
      await expectLedgerInOrder(stack)
    },
  )

  test('a BYOK key counts as failing after three refusals in a row, with a message to its owner, and recovers', async () => {
    const own = await store('alpha', { name: 'team' })
    const shown = async () => {
      const list = (await (await manage('GET')).json()) as { data: Array<Record<string, unknown>> }
      return list.data[0]
    }
    expect(await shown()).toMatchObject({ status: 'unchecked' })
    await chat({ model: 'own/status-402' })
    await eventually(async () =>
      expect(await shown()).toMatchObject({
        status: 'refused',
        last_error: 'payment_required',
        last_error_at: expect.any(String),
      }),
    )
    await eventually(async () => {
      await chat({ model: 'own/status-402' })
      expect(await shown()).toMatchObject({ status: 'failing' })
    })
    expect(await shown()).toMatchObject({ id: own.id, name: 'team', last_error: 'payment_required' })
    const events = await stack.postgres.event.findMany({
      where: { accountId, type: 'provider_key.failing' },
    })
    expect(events.map(({ data }) => data)).toEqual([
      {
        provider_key_id: own.id,
        provider: 'alpha',
        name: 'team',
        last4: own.secret.slice(-4),
        error: 'payment_required',
      },
    ])
    await completionOf(await chat({ model: 'own/plain' }))
    await eventually(async () => expect(await shown()).toMatchObject({ status: 'active' }))
  })

  test('in the middle of a stream is rescued by shared capacity only where it may be', async () => {
    await store('alpha')
    const alone = await (await chat({ model: 'own/broken-words', stream: true })).text()
    expect(alone).not.toContain('[DONE]')
    expect(alone).toContain('"finish_reason":"error"')
    expect(seen().every(([provider]) => provider === 'alpha')).toBe(true)
    await expectLedgerInOrder(stack)
    const [record] = await stack.postgres.callRecord.findMany({ where: { accountId } })
    expect(record).toMatchObject({ status: 'interrupted', isByok: true })

    stack.providers.log.clear()
    ;({ key, accountId } = await stack.account('1.00', MAY_MANAGE_KEYS))
    const lenient = await store('alpha', { allow_fallback: true })
    const asked = { model: 'own/broken-words', stream: true, provider: { order: ['beta'] } }
    expect(await (await chat(asked)).text()).toContain('[DONE]')
    expect(seen()).toEqual([
      ['alpha', lenient.secret],
      ['beta', OUR_KEY],
    ])
    await expectLedgerInOrder(stack)
    const [rescued] = await stack.postgres.callRecord.findMany({ where: { accountId } })
    expect(rescued).toMatchObject({ status: 'completed', isByok: false })
  })
})

describe('a change of a key', () => {
  test('reaches every worker without waiting for the reload', async () => {
    const own = await store('alpha')
    await completionOf(await chat({ model: 'own/plain' }))
    const uses = async () => {
      stack.providers.log.clear()
      await (await chat({ model: 'own/plain' })).text()
      return seen().at(0)?.[1]
    }
    const withinASecond = { timeout: onBusyMachine(1_000), interval: 50 }
    expect((await manage('PATCH', `/${own.id}`, { disabled: true })).status).toBe(200)
    await vi.waitFor(async () => expect(await uses()).toBe(OUR_KEY), withinASecond)
    expect((await manage('PATCH', `/${own.id}`, { disabled: false })).status).toBe(200)
    await vi.waitFor(async () => expect(await uses()).toBe(own.secret), withinASecond)
    expect((await manage('DELETE', `/${own.id}`)).status).toBe(200)
    await vi.waitFor(async () => expect(await uses()).toBe(OUR_KEY), withinASecond)
    expect(await stack.postgres.providerKey.count({ where: { accountId } })).toBe(0)
  })
})

describe('while PostgreSQL is away', () => {
  /** A call that the client's key may not serve: it shows whether the API knows of the key, and leaves it alone. */
  const elsewhere = (by: string) =>
    caller(stack, { key: by })({ model: 'own/plain', provider: { ignore: ['alpha'] } })

  /** An account that the API knows all of, with a key that no worker has read yet. */
  async function accountWithUnreadKey(allowFallback: boolean): Promise<string> {
    const account = await stack.account('1.00', MAY_MANAGE_KEYS)
    expect((await elsewhere(account.key)).status).toBe(200)
    const secret = newSecret()
    const created = await manage('POST', '', { provider: 'alpha', key: secret }, account.key)
    const { id } = (await created.json()) as { id: string }
    await eventually(async () => expect((await elsewhere(account.key)).status).toBe(503))
    if (allowFallback) {
      expect((await manage('PATCH', `/${id}`, { allow_fallback: true }, account.key)).status).toBe(200)
      await eventually(async () => expect((await elsewhere(account.key)).status).toBe(200))
    }
    return account.key
  }

  test('a BYOK key used before works while PostgreSQL is unavailable; another is 503 or falls back', async () => {
    const used = await store('alpha')
    await completionOf(await chat({ model: 'own/plain' }))
    const strict = await accountWithUnreadKey(false)
    const lenient = await accountWithUnreadKey(true)
    // The announcements have come by now, and dropped what was read before them or while they came.
    await completionOf(await chat({ model: 'own/plain' }))
    expect((await elsewhere(strict)).status).toBe(503)
    expect((await elsewhere(lenient)).status).toBe(200)
    const asked = { model: 'own/plain', provider: { order: ['alpha'] } }
    const uses = async (by: string) => {
      stack.providers.log.clear()
      const response = await caller(stack, { key: by })(asked)
      return { response, seen: seen() }
    }

    stack.databaseProxy!.refuse()
    await expectError(await manage('GET'), 503, 'overloaded')
    const unsaved = await manage('POST', '', { provider: 'alpha', key: newSecret() })
    await expectError(unsaved, 503, 'overloaded')
    expect((await uses(key)).seen).toEqual([['alpha', used.secret]])
    const refused = await uses(strict)
    expect(refused.seen).toEqual([])
    await expectError(refused.response, 503, 'overloaded')
    expect(refused.response.headers.get('retry-after')).toBe('1')
    expect((await uses(lenient)).seen).toEqual([['alpha', OUR_KEY]])

    stack.databaseProxy!.restore()
    await eventually(async () => expect((await uses(strict)).response.status).toBe(200))
    expect(seen().at(-1)?.[1]).not.toBe(OUR_KEY)
    await expectLedgerInOrder(stack)
  })
})

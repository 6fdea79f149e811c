import { beforeAll, describe, expect, test } from 'vitest'
import type { OfferView, ProviderHourView, ProviderView } from '../../src/core/api/offers.ts'
import { HOUR_MS } from '../../src/core/kernel/time.ts'
import { eventually } from '../helpers/eventually.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { caller, completionOf, expectError } from './wire.ts'

let adminKey: string

const stack = testStack(() => ({
  models: {
    'test/shown': [
      { at: 'alpha', model: 'words-30.tag-shown', cost: '0.25' },
      { at: 'beta', model: 'status-503.tag-shown' },
    ],
    'test/preamble': [{ at: 'alpha', model: 'words-10.preamble-700' }],
    'test/dear': [{ at: 'alpha', model: 'words-10.tag-dear', cost: '2.00' }],
    'test/key-refused': [{ at: 'gamma', model: 'status-401.tag-key' }],
    'test/key-refused-too': [{ at: 'gamma', model: 'status-402.tag-key' }],
    'test/key-refused-also': [{ at: 'gamma', model: 'status-401.tag-also' }],
    'test/sibling': [{ at: 'gamma', model: 'words-10.tag-sibling' }],
    'test/model-refused': [{ at: 'delta', model: 'status-404.tag-model' }],
    'test/model-served': [{ at: 'delta', model: 'words-10.tag-served' }],
  },
  environment: { BREAKER_FAILURES: '1000', RETRY_BUDGET_FLOOR: '10000' },
}))
const owner = testAccount(stack, '20.00')
const call = caller(stack, owner)
beforeAll(async () => {
  adminKey = await stack.adminKey()
})

const admin = (path: string, init: RequestInit = {}, as = adminKey): Promise<Response> =>
  fetch(`${stack.url}/admin/api${path}`, { ...init, headers: { authorization: `Bearer ${as}` } })
async function list<T>(path: string): Promise<T[]> {
  const response = await admin(path)
  expect(response.status).toBe(200)
  return ((await response.json()) as { data: T[] }).data
}
const offerAt = async (provider: string, model: string): Promise<OfferView> => {
  const [found, ...others] = await list<OfferView>(`/offers?provider=${provider}&model=${model}`)
  expect(others).toEqual([])
  return found!
}
const enable = (kind: string, id: string) =>
  admin(`/${kind}/${encodeURIComponent(id)}/enable`, { method: 'POST' })
const soon = (assertion: () => Promise<void>) => eventually(assertion)

describe('GET /admin/api/providers/:id/hours', () => {
  test('shows what a provider did by the hour, with the hours in which nothing was', async () => {
    const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS)
    const data = { providerId: 'delta', succeeded: 9, failed: 1, firstTokenP50Ms: 120, firstTokenP95Ms: 450 }
    await stack.postgres.providerHour.create({ data: { ...data, hour: new Date(hour.getTime() - HOUR_MS) } })
    const hours = await list<ProviderHourView>('/providers/delta/hours')
    expect(hours).toHaveLength(24)
    expect(hours.at(-2)).toEqual({
      at: new Date(hour.getTime() - HOUR_MS).toISOString(),
      succeeded: 9,
      failed: 1,
      first_token_p50_ms: 120,
      first_token_p95_ms: 450,
    })
    const { uptime } = (await list<ProviderView>('/providers')).find(({ id }) => id === 'delta')!
    expect(uptime).toMatchObject({ uptime: 0.9, bars: { length: 24 } })
    expect(uptime.bars.at(-2)).toBe(0.9)
    expect(hours[0]).toMatchObject({ succeeded: 0, failed: 0, first_token_p50_ms: null })
    const week = await list<ProviderHourView>('/providers/none/hours?hours=168')
    expect(week).toHaveLength(168)
    expect(week.filter(({ succeeded, failed }) => succeeded + failed > 0)).toEqual([])
  })
})

describe('GET /admin/api/offers', () => {
  test('shows what an offer was seen to add to prompts, until an operator enables it', async () => {
    const learned = async () => (await offerAt('alpha', 'test/preamble')).added_tokens.learned
    expect(await learned()).toEqual([])
    await completionOf(await call({ model: 'test/preamble' }))
    await soon(async () => expect(await learned()).toMatchObject([{ content: 'text', tokens: 704 }]))
    expect((await enable('offers', 'alpha/words-10.preamble-700')).status).toBe(200)
    await soon(async () => expect(await learned()).toEqual([]))
  })

  test('shows what calls measured, what offers cost and what is left', async () => {
    for (let run = 0; run < 3; run++)
      await completionOf(
        await call({ model: 'test/shown', provider: { order: ['beta', 'alpha'] }, stream: false }),
      )
    await soon(async () => {
      const served = await offerAt('alpha', 'test/shown')
      expect(served.last_minute).toEqual({ success: 3, failure: 0, rate_limited: 0, success_share: 1 })
      expect(served.last_ten_minutes.success).toBe(3)
      expect(served.first_token_ms!.p50).toBeGreaterThan(0)
      expect(served.first_token_ms!.p99).toBeGreaterThanOrEqual(served.first_token_ms!.p50)
      expect(served.tokens_per_second!.p50).toBeGreaterThan(0)
      const failing = await offerAt('beta', 'test/shown')
      expect(failing.last_minute).toMatchObject({ success: 0, success_share: 0 })
      expect(failing.first_token_ms).toBeNull()
    })
    const served = await offerAt('alpha', 'test/shown')
    expect(served).toMatchObject({
      id: 'alpha/words-30.tag-shown',
      upstream_model: 'words-30.tag-shown',
      shared: true,
      withheld: null,
      health: {
        state: 'ready',
        breaker: 'closed',
        level: null,
        reason: null,
        until: null,
        rate_limited_until: null,
      },
      added_tokens: { stated: 0, learned: [] },
      cost: { prompt: '0.25', completion: '0.25' },
      rate: { prompt: '1.00', completion: '2.00' },
      margin: { prompt: '0.75', completion: '1.75' },
    })
  })

  test('shows offers that are not used, and why', async () => {
    const dear = await offerAt('alpha', 'test/dear')
    expect(dear).toMatchObject({
      shared: false,
      withheld: 'loss',
      margin: { prompt: '-1.00', completion: '0.00' },
    })
  })

  test('is for operators only', async () => {
    for (const path of ['/offers', '/providers']) {
      await expectError(await fetch(`${stack.url}/admin/api${path}`), 401, 'missing_api_key')
      await expectError(await admin(path, {}, owner.key), 403, 'not_permitted')
    }
    await expectError(
      await admin('/offers/alpha%2Fx/enable', { method: 'POST' }, owner.key),
      403,
      'not_permitted',
    )
  })

  test('takes its two filters and nothing else', async () => {
    expect(await list('/offers?provider=nobody')).toEqual([])
    await expectError(await admin('/offers?modle=x'), 400, 'invalid_request')
  })
})

/** Three models at gamma find our key refused. */
async function findKeyRefused(): Promise<void> {
  for (const model of ['test/key-refused', 'test/key-refused-too', 'test/key-refused-also'])
    await expectError(await call({ model }), 502, 'all_providers_failed')
}

describe('a provider that refuses our key', () => {
  test('is down with all its offers, retried rarely, until an operator enables it', async () => {
    await findKeyRefused()
    await soon(async () => {
      const sibling = await offerAt('gamma', 'test/sibling')
      expect(sibling.health).toMatchObject({
        state: 'down',
        breaker: 'open',
        level: 'provider',
        reason: 'refused',
      })
      // Six times the usual cooldown of ten seconds.
      expect(Date.parse(sibling.health.until!) - Date.now()).toBeGreaterThan(45_000)
    })
    const refused = await call({ model: 'test/sibling' })
    await expectError(refused, 503, 'no_provider_available')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)

    const shown = (await list<ProviderView>('/providers')).find(({ id }) => id === 'gamma')!
    expect(shown).toMatchObject({
      offers: 4,
      health: { down: 4 },
      breaker: { breaker: 'open', reason: 'refused' },
    })

    const enabled = await enable('providers', 'gamma')
    const { closed } = (await enabled.json()) as { closed: string[] }
    expect(closed).toHaveLength(4)
    expect(closed).toContain('gamma')
    await soon(async () => {
      expect((await call({ model: 'test/sibling' })).status).toBe(200)
    })
    expect(await (await enable('providers', 'gamma')).json()).toMatchObject({ closed: [] })
  })

  test('for one model only is down for that model', async () => {
    await expectError(await call({ model: 'test/model-refused' }), 502, 'all_providers_failed')
    await soon(async () => {
      const { health } = await offerAt('delta', 'test/model-refused')
      expect(health).toMatchObject({ state: 'down', level: 'offer', reason: 'refused' })
    })
    await completionOf(await call({ model: 'test/model-served' }))

    const id = 'delta/status-404.tag-model'
    expect(await (await enable('offers', id)).json()).toEqual({ object: 'enabled', id, closed: [id] })
    await soon(async () => {
      expect((await offerAt('delta', 'test/model-refused')).health.state).toBe('ready')
    })
  })

  test('at some offers, while it takes it at others, is down at those only; a command enables them', async () => {
    await completionOf(await call({ model: 'test/sibling' }))
    await findKeyRefused()
    const refused = () => offerAt('gamma', 'test/key-refused').then(({ health }) => health)
    await soon(async () => {
      expect(await refused()).toMatchObject({ state: 'down', level: 'offer', reason: 'refused' })
    })
    expect((await offerAt('gamma', 'test/sibling')).health.state).toBe('ready')
    const { code, json } = await stack.command('admin', 'provider', 'enable', 'gamma')
    expect(code).toBe(0)
    expect(json.closed).toHaveLength(3)
    await soon(async () => {
      expect(await refused()).toMatchObject({ state: 'ready' })
    })
  })

  test('an unknown offer cannot be enabled', async () => {
    await expectError(await enable('offers', 'nobody/nothing'), 404, 'not_found')
    await expectError(await enable('providers', 'nobody'), 404, 'not_found')
  })
})

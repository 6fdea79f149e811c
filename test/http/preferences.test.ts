import { describe, expect, test } from 'vitest'
import { testAccount, testStack } from '../helpers/resources.ts'
import { caller, completionOf, expectError, readStream, recordOf } from './wire.ts'

const stack = testStack({
  models: {
    // Only alpha keeps nothing; beta is the cheapest to us, then alpha, then gamma.
    'test/three': {
      offers: [
        { at: 'alpha', model: 'words-12.tag-three', cost: '0.40' },
        { at: 'beta', model: 'words-12.tag-three', cost: '0.20' },
        { at: 'gamma', model: 'words-12.tag-three', cost: '0.60', exact_tools: true },
      ],
    },
    'test/failing-first': [
      { at: 'beta', model: 'status-503.tag-failing-first' },
      { at: 'alpha', model: 'words-12.tag-failing-first' },
    ],
    'test/dear': {
      list_price: { prompt: '10.00', completion: '20.00' },
      rate: { prompt: '9.00', completion: '18.00' },
      supported_parameters: ['temperature'],
      offers: [{ at: 'alpha', model: 'words-12.tag-dear' }],
    },
    'test/down': [{ at: 'alpha', model: 'status-503.tag-down' }],
    'gpt-test': [{ at: 'alpha', model: 'words-12.tag-bare' }],
  },
  environment: { RETRY_BUDGET_FLOOR: '10000', BREAKER_FAILURES: '1000' },
})
const owner = testAccount(stack, '20.00')
const call = caller(stack, owner)

/** The providers that a call reached, in order. */
async function reached(body: Record<string, unknown>): Promise<string[]> {
  stack.providers.log.clear()
  await completionOf(await call(body))
  return stack.providers.log.requests.map(({ provider }) => provider)
}

const RUNS = 12
/** The providers that served some calls, in a row. */
async function serving(provider: Record<string, unknown>, model = 'test/three'): Promise<Set<string>> {
  const all: string[] = []
  for (let run = 0; run < RUNS; run++) all.push(...(await reached({ model, provider })))
  return new Set(all)
}

describe('provider preferences', () => {
  test('`order` is tried in that order; unknown names in it are skipped', async () => {
    expect(await serving({ order: ['nobody', 'gamma', 'alpha'] })).toEqual(new Set(['gamma']))
    expect(await reached({ model: 'test/failing-first', provider: { order: ['beta', 'alpha'] } })).toEqual([
      'beta',
      'alpha',
    ])
  })

  test('`only` and `allow_fallbacks: false` fail closed, `ignore` skips unknown names', async () => {
    expect(await serving({ only: ['gamma'] })).toEqual(new Set(['gamma']))
    expect(await serving({ ignore: ['alpha', 'beta', 'nobody'] })).toEqual(new Set(['gamma']))
    for (const provider of [
      { only: ['nobody'] },
      { only: [] },
      { only: ['alpha'], ignore: ['alpha'] },
      { only: ['beta'], zdr: true },
      { order: ['nobody'], allow_fallbacks: false },
      { order: ['beta'], zdr: true, allow_fallbacks: false },
    ]) {
      const response = await call({ model: 'test/three', provider })
      await expectError(response, 503, 'no_provider_available')
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(response.headers.get('retry-after')).toBeNull()
    }
  })

  test('`zdr` and `data_collection: deny` reach only providers that keep nothing, also on failover', async () => {
    expect(await serving({ zdr: true })).toEqual(new Set(['alpha']))
    expect(await serving({ data_collection: 'deny' })).toEqual(new Set(['alpha']))
    expect(await serving({ zdr: true, order: ['beta'], sort: 'price' })).toEqual(new Set(['alpha']))
  })

  test('`allow_fallbacks: false` tries nothing but the first choice', async () => {
    const response = await call({
      model: 'test/failing-first',
      provider: { order: ['beta'], allow_fallbacks: false },
    })
    await expectError(response, 502, 'all_providers_failed')
    await stack.settled(owner.accountId)
    const { attempts } = await recordOf(stack, response)
    expect(new Set((attempts as { offerId: string }[]).map(({ offerId }) => offerId.split('/')[0]))).toEqual(
      new Set(['beta']),
    )
  })

  test('`max_price.request` bounds the hold and the answer, or fails closed', async () => {
    const none = await call({ model: 'test/dear', provider: { max_price: { request: '0.000000001' } } })
    await expectError(none, 503, 'no_provider_available')
    const response = await call({ model: 'test/dear', provider: { max_price: { request: 0.0012 } } })
    const { choices } = await completionOf(response)
    expect(['length', 'stop']).toContain(choices[0]!.finish_reason)
    await stack.settled(owner.accountId)
    const { holdPico, chargePico } = await recordOf(stack, response)
    expect(holdPico).toBeLessThanOrEqual(1_200_000_000n)
    expect(chargePico).toBeLessThanOrEqual(holdPico)
  })
})

describe('suffixes', () => {
  test('`:floor` takes the cheapest, `:exacto` only offers with exact tools', async () => {
    expect(await serving({}, 'test/three:floor')).toEqual(new Set(['beta']))
    expect(await serving({}, 'test/three:exacto')).toEqual(new Set(['gamma']))
    const response = await call({ model: 'test/dear:exacto' })
    await expectError(response, 503, 'no_provider_available')
    expect(response.headers.get('x-should-retry')).toBe('false')
  })

  test('are echoed, `:nitro` too, streaming and not', async () => {
    for (const model of ['test/three:nitro', 'test/three:floor', 'auto:floor', 'gpt-test:floor']) {
      expect((await completionOf(await call({ model }))).model).toBe(model)
      const stream = readStream(await (await call({ model, stream: true })).text())
      expect(new Set(stream.chunks.map((chunk) => chunk.model))).toEqual(new Set([model]))
    }
  })
})

describe('the model', () => {
  test('is `auto` by default and stays `auto`, whatever the profile', async () => {
    expect((await completionOf(await call({}))).model).toBe('auto')
    for (const routing_profile of ['eco', 'auto', 'premium', 'agentic']) {
      expect((await completionOf(await call({ model: 'auto', routing_profile }))).model).toBe('auto')
    }
  })

  test('may be spelled `openai/<id>` for a bare id, and is echoed as sent', async () => {
    for (const model of ['gpt-test', 'openai/gpt-test', 'openai/gpt-test:floor']) {
      expect((await completionOf(await call({ model }))).model).toBe(model)
    }
  })

  test('of a list is the first that succeeds, and is the one named and charged', async () => {
    const response = await call({ models: ['test/none', 'test/down', 'test/dear', 'test/three'] })
    const { model, usage } = await completionOf(response)
    expect(model).toBe('test/dear')
    await stack.settled(owner.accountId)
    const record = await recordOf(stack, response)
    expect(record.chargePico).toBe(
      BigInt(usage!.prompt_tokens) * 9_000_000n + BigInt(usage!.completion_tokens) * 18_000_000n,
    )
  })

  test('is tried before the list', async () => {
    expect((await completionOf(await call({ model: 'test/dear', models: ['test/three'] }))).model).toBe(
      'test/dear',
    )
    const both = await call({ model: 'test/down', models: ['test/three:floor'] })
    expect((await completionOf(both)).model).toBe('test/three:floor')
  })

  test('of a list may have a suffix of its own, stand twice, be an alias, or be `auto`', async () => {
    const models = async (...list: string[]) => (await completionOf(await call({ models: list }))).model
    expect(await models('test/down', 'test/down', 'test/three:floor')).toBe('test/three:floor')
    expect(await models('test/down:nitro', 'test/three:fast', 'openai/gpt-test:floor')).toBe(
      'openai/gpt-test:floor',
    )
    expect(await models('test/down', 'auto')).toBe('auto')
    expect(await models('test/dear:exacto', 'test/three:exacto')).toBe('test/three:exacto')
    await expectError(await call({ models: ['test/three:fast', 'none'] }), 404, 'model_not_found')
  })

  test('of a list is named in every chunk of a stream', async () => {
    const stream = readStream(
      await (await call({ models: ['test/down', 'test/three'], stream: true })).text(),
    )
    expect(stream.isDone).toBe(true)
    expect(new Set(stream.chunks.map((chunk) => chunk.model))).toEqual(new Set(['test/three']))
  })
})

import pino from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { createShadowCalls, type ShadowedCall } from '../../../src/calls/worker/shadow-calls.ts'
import { createShadowSpend } from '../../../src/calls/worker/shadow-spend.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testRedis } from '../../helpers/resources.ts'
import { tieredCatalog } from '../../helpers/tiered-catalog.ts'

const catalog = tieredCatalog()

const call = {
  envelope: {
    id: 'chatcmpl_1',
    accountId: 'a',
    auto: { score: 0.2, tier: 'light', profile: 'auto', kind: 'chat' },
  },
  messages: [{ role: 'user', content: 'hello' }],
  completion: 'Hello.',
  record: { served: { modelId: catalog.autoLadder[0]!.id }, chargePico: '1' },
} as unknown as ShadowedCall

/** Shadows whose requests never end by themselves, and what was asked of which model. */
function hangingShadows(reserve: () => Promise<boolean>) {
  const registry = new Registry()
  const asked: string[] = []
  const shadows = createShadowCalls({
    chain: ({ envelope, signal }) => {
      asked.push(envelope.requestedModel)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))))
    },
    catalog: () => catalog,
    spend: { reserve, giveBack: async () => undefined },
    outcomes: { putPair: async () => undefined },
    ...{ registry, clock: () => 0, random: () => 0.2 },
    logger: pino({ level: 'silent' }),
  })
  const counts = async () => {
    const metric = await registry.getSingleMetric('switchyard_shadow_calls_total')!.get()
    return Object.fromEntries(metric.values.map(({ labels, value }) => [labels.result, value]))
  }
  return { shadows, asked, counts }
}

test('a flood of calls has few shadows: one runs, eight wait, and the others are dropped', async () => {
  const { shadows, asked, counts } = hangingShadows(async () => true)
  for (let each = 0; each < 20; each++) shadows.offer(call)
  await new Promise(setImmediate)
  expect(asked).toHaveLength(1)
  await shadows.stop()
  shadows.offer(call)
  expect(await counts()).toEqual({ dropped: 12, failed: 1 })
  expect(asked).toHaveLength(1)
})

test('without money of the day no provider is asked', async () => {
  const { shadows, asked, counts } = hangingShadows(async () => false)
  shadows.offer(call)
  await eventually(async () => expect(await counts()).toEqual({ 'over-budget': 1 }))
  expect(asked).toEqual([])
  await shadows.stop()
})

describe('the money of a day', () => {
  const server = testRedis()

  test('is reserved up to the bound by all processes together, and again what a reservation did not cost', async () => {
    const redis = server.connect()
    let now = Date.UTC(2026, 10, 25, 12)
    const [one, other] = [1, 2].map(() => createShadowSpend(redis, { limitPico: 1_000n, clock: () => now }))
    expect(await one!.reserve(600n)).toBe(true)
    expect(await other!.reserve(600n)).toBe(false)
    expect(await other!.reserve(400n)).toBe(true)
    expect(await one!.reserve(1n)).toBe(false)
    await one!.giveBack(500n)
    expect(await other!.reserve(500n)).toBe(true)
    now += 86_400_000
    expect(await one!.reserve(1_000n)).toBe(true)
  })
})

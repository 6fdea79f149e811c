import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createShadowCalls, type ShadowedCall } from '../../../src/calls/worker/shadow-calls.ts'
import { TIERS } from '../../../src/core/auto/tiers.ts'
import { builtCatalog } from '../../helpers/built-catalog.ts'
import { catalogDocument } from '../../helpers/test-catalog.ts'

const catalog = builtCatalog([
  catalogDocument(
    Object.fromEntries(
      TIERS.map((tier, at) => [
        `maker${at}/${tier}`,
        { vendor: `maker${at}`, auto_tier: tier, offers: [{ at: 'alpha', model: 'words-12' }] },
      ]),
    ),
    'http://127.0.0.1:1',
  ),
])

test('a flood of calls has few shadows: one runs, eight wait, and the others are dropped', async () => {
  const registry = new Registry()
  const asked: string[] = []
  const shadows = createShadowCalls({
    chain: ({ envelope, signal }) => {
      asked.push(envelope.requestedModel)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))))
    },
    catalog: () => catalog,
    spend: { reserve: async () => true, giveBack: async () => undefined },
    outcomes: { putPair: async () => undefined },
    ...{ registry, clock: () => 0, random: () => 0.2 },
    logger: pino({ level: 'silent' }),
  })
  const call = {
    envelope: {
      id: 'chatcmpl_1',
      accountId: 'a',
      auto: { score: 0.2, tier: 'light', profile: 'auto', kind: 'chat' },
    },
    content: { kind: 'chat', messages: [{ role: 'user', content: 'hello' }], parameters: {} },
    completion: 'Hello.',
    record: { served: { modelId: catalog.autoLadder[0]!.id }, chargePico: '1' },
  } as unknown as ShadowedCall
  for (let each = 0; each < 20; each++) shadows.offer(call)
  await new Promise(setImmediate)
  expect(asked).toHaveLength(1)
  await shadows.stop()
  shadows.offer(call)
  const metric = await registry.getSingleMetric('switchyard_shadow_calls_total')!.get()
  const counts = Object.fromEntries(metric.values.map(({ labels, value }) => [labels.result, value]))
  expect(counts).toEqual({ dropped: 12, failed: 1 })
  expect(asked).toHaveLength(1)
})

import { expect, test } from 'vitest'
import { autoLadder } from '../../../src/core/auto/auto-ladder.ts'
import { abilitiesOf } from '../../../src/core/auto/model-quality.ts'
import { TIERS } from '../../../src/core/auto/tiers.ts'
import { seededRandom } from '../../../src/core/kernel/seeded-random.ts'
import type { KnownOutcome } from '../../../src/routing/learning/outcome-store.ts'
import { outcomeVector } from '../../../src/routing/learning/outcome-vector.ts'
import { pairCurve } from '../../../src/routing/learning/pair-curve.ts'
import { builtCatalog } from '../../helpers/built-catalog.ts'
import { catalogDocument } from '../../helpers/test-catalog.ts'

const { autoLadder: ladder } = builtCatalog([
  catalogDocument(
    Object.fromEntries(
      TIERS.map((tier) => [
        `test/${tier}`,
        { auto_tier: tier, offers: [{ at: 'alpha', model: 'words-12' }] },
      ]),
    ),
    'http://127.0.0.1:1',
  ),
])
const abilities = new Map([...abilitiesOf(ladder)].map(([{ id }, known]) => [id, known]))
const vector = outcomeVector([{ role: 'user', content: 'hello' }])

const outcome = (
  score: number,
  results: [number, number],
  more: Partial<KnownOutcome> = {},
): KnownOutcome => ({
  accountId: 'a',
  kind: 'chat',
  score,
  modelId: 'test/frontier',
  outcome: results[1],
  costPico: 10_000_000_000n,
  pair: { vector, otherModelId: 'test/light', otherOutcome: results[0], otherCostPico: 1_000_000_000n },
  ...more,
})

test('the score is above random where hard prompts are those that the cheaper model fails, and the oracle above all', () => {
  expect(autoLadder(ladder).models).toHaveLength(4)
  const random = seededRandom(1)
  const pairs = Array.from({ length: 400 }, () => {
    const score = random()
    return outcome(score, [random() < score ? 0 : 1, 1])
  })
  const curve = pairCurve(
    [...pairs, outcome(0.5, [0, 1], { pair: null }), outcome(0.5, [0, 1], { modelId: 'gone' })],
    abilities,
  )!
  expect(curve.pairs).toBe(400)
  expect(curve.dearer).toEqual({ usd: expect.closeTo(0.01), quality: 1 })
  expect(curve.cheaper.usd).toBeCloseTo(0.001)
  const half = (policy: string) => curve.policies.find((one) => one.policy === policy)!.quality[1]!
  const mixed = half('mixed at random')
  expect(mixed.value).toBeCloseTo((curve.cheaper.quality + 1) / 2)
  expect(mixed.low).toBeLessThan(mixed.value)
  expect(half('score').low).toBeGreaterThan(mixed.high)
  expect(half('value').low).toBeGreaterThan(mixed.high)
  expect(half('oracle').value).toBeGreaterThan(half('score').value)
  const [eco, , premium] = curve.profiles
  expect(premium!.usd).toBeGreaterThan(eco!.usd)
  expect(premium!.quality.value).toBeGreaterThanOrEqual(eco!.quality.value)
  expect(curve.models.map(({ model, answers }) => [model, answers])).toEqual([
    ['test/light', 400],
    ['test/frontier', 400],
  ])
})

test('without pairs there is nothing to report', () => {
  expect(pairCurve([outcome(0.5, [0, 1], { pair: null })], abilities)).toBeNull()
})

import { describe, expect, test } from 'vitest'
import builtin from '../../../src/catalog/data/builtin.json' with { type: 'json' }
import { autoTiers, TIERS } from '../../../src/core/auto/auto-tiers.ts'
import { compareVersions, modelLine } from '../../../src/core/auto/model-line.ts'
import type { Model } from '../../../src/core/catalog/catalog.ts'
import { buildCatalogSnapshot } from '../../../src/core/catalog/catalog-snapshot.ts'

/** The built-in catalog as it is where the keys of these providers are set; without providers, of all of them. */
function ladderOf(providers?: readonly string[]): readonly Model[] {
  const built = buildCatalogSnapshot([{ name: 'builtin', content: builtin, updatedAt: 0 }], {
    discountPercent: 5,
    openWeightsDiscountPercent: 20,
    generatedAt: 0,
    isUsable: ({ id }) => providers === undefined || providers.includes(id),
  })
  if (built.kind !== 'snapshot') throw new Error(built.problems.join('\n'))
  return built.snapshot.autoLadder
}

const price = ({ listPrice }: Model) => Number(listPrice.prompt * 3n + listPrice.completion)
const LEADS = 3

describe('the tiers of the built-in catalog', () => {
  const ladder = ladderOf()
  const { tiers } = autoTiers(ladder)
  const leads = TIERS.flatMap((tier) => tiers[tier].slice(0, LEADS))
  const lineOf = (model: Model) => modelLine(model.id, model.vendor)

  test('are led by three models each that take tools, reason, and have a long window', () => {
    expect(leads).toHaveLength(TIERS.length * LEADS)
    for (const model of leads) {
      expect(model).toMatchObject({ reasoning: true, supportedParameters: expect.arrayContaining(['tools']) })
      expect(model.contextLength).toBeGreaterThanOrEqual(200_000)
    }
  })

  test('are led by models of vendors with ten models or more, that several providers run', () => {
    for (const model of leads) {
      expect(ladder.filter(({ vendor }) => vendor === model.vendor).length).toBeGreaterThanOrEqual(10)
      expect(new Set(model.offers.map(({ provider }) => provider.id)).size).toBeGreaterThan(1)
    }
  })

  test('are led by no preview, dated copy, fine-tune, edition or special model, and by none with a newer of its line', () => {
    for (const model of leads) {
      const own = lineOf(model)
      expect(own.isVariant, model.id).toBe(false)
      const newer = ladder.filter((other) => {
        const line = lineOf(other)
        const isSameLine = other.vendor === model.vendor && line.line === own.line && !line.isVariant
        return isSameLine && compareVersions(line.version, own.version) > 0
      })
      expect(newer.map(({ id }) => id)).toEqual([])
    }
  })

  test('cost more from tier to tier: none of the first three less than any of the tier below', () => {
    for (const [index, tier] of TIERS.slice(1).entries()) {
      const below = tiers[TIERS[index]!].slice(0, LEADS).map(price)
      expect(Math.min(...tiers[tier].slice(0, LEADS).map(price))).toBeGreaterThan(Math.max(...below))
    }
  })

  test('hold no model above standard that its maker calls small', () => {
    for (const model of [...tiers.strong, ...tiers.frontier])
      expect(lineOf(model).isSmall, model.id).toBe(false)
  })

  test('hold every model of the ladder once', () => {
    const { lastResorts } = autoTiers(ladder)
    const placed = [...TIERS.flatMap((tier) => tiers[tier]), ...lastResorts]
    expect(placed.map(({ id }) => id).sort()).toEqual(ladder.map(({ id }) => id).sort())
  })

  test.each([[['openai']], [['anthropic']], [['openai', 'google']], [['groq']]])(
    'with keys of %j alone are led by the cheaper in the lower tier',
    (providers) => {
      const found = autoTiers(ladderOf(providers)).tiers
      const first = TIERS.flatMap((tier) => found[tier].slice(0, 1)).map(price)
      expect(first.length).toBeGreaterThan(1)
      expect(first).toEqual(first.toSorted((a, b) => a - b))
    },
  )
})

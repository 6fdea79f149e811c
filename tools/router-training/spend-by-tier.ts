import builtin from '../../src/catalog/data/builtin.json' with { type: 'json' }
import { DEFAULT_BOUNDS, tierOf } from '../../src/core/auto/auto-routing.ts'
import { autoTiers, TIERS, type Tier } from '../../src/core/auto/auto-tiers.ts'
import type { TokenRates } from '../../src/core/catalog/catalog.ts'
import { buildCatalogSnapshot } from '../../src/core/catalog/catalog-snapshot.ts'

/** Where prompts go at the default bounds of `auto`, and what that costs. */
export interface SpendByTier {
  /** Share of the calls, of each tier. */
  shares: Record<Tier, number>
  /** Mean list price of a call in USD. */
  usdPerCall: number
  /** The frontier tier's share of the spend. */
  frontierSpend: number
}

/** An answer is taken to be so long, a token to have so many characters. */
const ANSWER_TOKENS = 500
const TOKEN_CHARS = 4
const PICO_PER_USD = 1e12

const mapTiers = <T>(of: (tier: Tier) => T): Record<Tier, T> => ({
  light: of('light'),
  standard: of('standard'),
  strong: of('strong'),
  frontier: of('frontier'),
})

const LEADING_RATES = leadingRates()

/** Every tier at the list price of the model that leads it in the built-in catalog. For reports only: no money is counted by it. */
export function spendByTier(scored: ReadonlyArray<{ prompt: string; score: number }>): SpendByTier {
  const calls: Record<Tier, number> = { light: 0, standard: 0, strong: 0, frontier: 0 }
  const spend: Record<Tier, number> = { light: 0, standard: 0, strong: 0, frontier: 0 }
  for (const { prompt, score } of scored) {
    const tier = tierOf([score], DEFAULT_BOUNDS.auto)
    const { prompt: perPromptToken, completion } = LEADING_RATES[tier]
    calls[tier]++
    spend[tier] += (prompt.length / TOKEN_CHARS) * Number(perPromptToken) + ANSWER_TOKENS * Number(completion)
  }
  const total = TIERS.reduce((sum, tier) => sum + spend[tier], 0)
  return {
    shares: mapTiers((tier) => calls[tier] / scored.length),
    usdPerCall: total / scored.length / PICO_PER_USD,
    frontierSpend: spend.frontier / total,
  }
}

function leadingRates(): Record<Tier, TokenRates> {
  const built = buildCatalogSnapshot([{ name: 'builtin', content: builtin, updatedAt: 0 }], {
    // Of no effect on list prices.
    discountPercent: 5,
    openWeightsDiscountPercent: 20,
    generatedAt: 0,
    isUsable: () => true,
  })
  if (built.kind !== 'snapshot') throw new Error(built.problems.join('\n'))
  const { tiers } = autoTiers(built.snapshot.autoLadder)
  return mapTiers((tier) => tiers[tier][0]!.listPrice)
}

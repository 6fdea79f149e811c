import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import builtin from '../../src/catalog/data/builtin.json' with { type: 'json' }
import { chooseAutoModels } from '../../src/core/auto/auto-routing.ts'
import { ROUTING_PROFILES, TIERS } from '../../src/core/auto/tiers.ts'
import { parseChatRequest } from '../../src/core/calls/chat-request.ts'
import { chatNeeds } from '../../src/core/calls/kinds/chat.ts'
import { type CatalogSnapshot, compareByPrice, type Model } from '../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../src/core/kernel/money.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'

const price = ({ listPrice }: Model) => listPrice.prompt * 3n + listPrice.completion
const tools = [{ type: 'function', function: { name: 'look', parameters: {} } }]

/** The models chosen for a greeting by bounds that put it into the given tier. */
function candidates(
  catalog: CatalogSnapshot,
  tier: number,
  body: object,
  isUsable: (model: Model) => boolean,
) {
  const { content } = parseChatRequest({ messages: [{ role: 'user', content: 'hello' }], ...body })
  const needs = chatNeeds(content)
  const bounds = Array.from({ length: TIERS.length - 1 }, (_, index) => (index < tier ? 0 : 1))
  const autoBounds = Object.fromEntries(ROUTING_PROFILES.map((profile) => [profile, bounds]))
  const chosen = chooseAutoModels(needs.auto, needs, { ...catalog, autoBounds }, isUsable)
  expect([TIERS[tier], 'strong']).toContain(chosen.tier)
  return chosen.models
}

describe('no candidate of auto costs more than a newer model of its line that can take the request', () => {
  const LINES = ['sol', 'terra', 'fast']
  const VERSIONS = [undefined, '3', '4.1', '5', '5.2']
  const made = fc.record({
    vendor: fc.constantFrom('a', 'b'),
    line: fc.constantFrom(...LINES),
    version: fc.constantFrom(...VERSIONS),
    usd: fc.constantFrom(0.05, 0.2, 0.5, 1, 2, 4, 8, 30),
    contextLength: fc.constantFrom(8_000, 128_000),
    takesTools: fc.boolean(),
    usable: fc.boolean(),
    autoTier: fc.option(fc.constantFrom(...TIERS), { nil: undefined, freq: 10 }),
  })
  type Made = typeof made extends fc.Arbitrary<infer T> ? T : never

  const idOf = ({ vendor, line, version }: Made) =>
    `${vendor}/${['m', version, line].filter((part) => part !== undefined).join('-')}`
  const toModel = (one: Made): Model => {
    const rate = picoUsdPerToken(BigInt(Math.round(one.usd * 1_000_000)))
    return {
      id: idOf(one),
      vendor: one.vendor,
      contextLength: one.contextLength,
      inputModalities: ['text'],
      supportedParameters: one.takesTools ? ['tools'] : [],
      reasoning: false,
      listPrice: { prompt: rate, completion: rate },
      autoTier: one.autoTier,
      offers: [],
    } as unknown as Model
  }

  test('in any catalog, for any profile, tier and preferences', () => {
    const catalogs = fc.uniqueArray(made, { selector: idOf, minLength: 1, maxLength: 12 })
    const tier = fc.nat(TIERS.length - 1)
    fc.assert(
      fc.property(
        catalogs,
        tier,
        fc.constantFrom(...ROUTING_PROFILES),
        fc.boolean(),
        (all, tier, profile, asks) => {
          const known = new Map(all.map((one) => [idOf(one), one]))
          const autoLadder = all.map(toModel).sort(compareByPrice)
          const body = { routing_profile: profile, ...(asks ? { tools } : {}) }
          const usable = ({ id }: Model) => known.get(id)!.usable
          const chosen = candidates({ autoLadder } as unknown as CatalogSnapshot, tier, body, usable)
          expect(chosen.length).toBeGreaterThan(0)
          const needsTools = asks || profile === 'agentic'
          const canTake = (one: Made) => one.usable && (one.takesTools || !needsTools)
          if (!all.some(canTake)) return
          for (const model of chosen) {
            const own = known.get(model.id)!
            expect(canTake(own)).toBe(true)
            if (own.autoTier !== undefined) continue
            const better = all.filter(
              (other) =>
                canTake(other) &&
                other.vendor === own.vendor &&
                other.line === own.line &&
                VERSIONS.indexOf(other.version) > VERSIONS.indexOf(own.version) &&
                other.usd < own.usd,
            )
            expect(better.map(idOf), model.id).toEqual([])
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  test('in the built-in catalog: of what was replaced, none that costs more', () => {
    const snapshot = builtCatalog([builtin])
    const replaced = [
      ['anthropic/claude-haiku-4.5', 'anthropic/claude-haiku-5.5'],
      ['gpt-5.6-terra', 'gpt-6.1-terra'],
      ['x-ai/grok-3', 'x-ai/grok-4.20'],
    ] as const
    for (const [old, young] of replaced) {
      const only = ({ id }: Model) => id === old || id === young
      expect(price(snapshot.models.get(old)!)).toBeGreaterThan(price(snapshot.models.get(young)!))
      for (let tier = 0; tier < TIERS.length; tier++) {
        expect(candidates(snapshot, tier, {}, only).map(({ id }) => id)).toEqual([young])
        expect(candidates(snapshot, tier, {}, ({ id }) => id === old).map(({ id }) => id)).toEqual([old])
      }
    }
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import builtin from '../../src/catalog/data/builtin.json' with { type: 'json' }
import modelQuality from '../../src/catalog/data/model-quality.json' with { type: 'json' }
import { autoLadder } from '../../src/core/auto/auto-ladder.ts'
import { chooseAutoModels, valueModels } from '../../src/core/auto/auto-routing.ts'
import { modelLine } from '../../src/core/auto/model-lines.ts'
import { ROUTING_PROFILES } from '../../src/core/auto/routing-profiles.ts'
import { parseChatRequest } from '../../src/core/calls/chat-request.ts'
import { chatNeeds } from '../../src/core/calls/kinds/chat.ts'
import { type CatalogSnapshot, compareByPrice, type Model } from '../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../src/core/kernel/money.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'
import { model, snapshot } from '../helpers/planned-catalog.ts'

const price = ({ listPrice }: Model) => listPrice.prompt * 3n + listPrice.completion
const tools = [{ type: 'function', function: { name: 'look', parameters: {} } }]

const POINT_USD = [0.001, 0.1, 1, 10, 1_000]

/** The models chosen for a greeting at a price of a point, and what they and all others are expected to be and to cost. */
function choice(
  catalog: CatalogSnapshot,
  pointUsd: number,
  body: object,
  isUsable: (model: Model) => boolean,
) {
  const { content } = parseChatRequest({ messages: [{ role: 'user', content: 'hello' }], ...body })
  const needs = chatNeeds(content)
  const autoPointUsd = Object.fromEntries(ROUTING_PROFILES.map((profile) => [profile, pointUsd]))
  const priced = { ...catalog, autoPointUsd }
  return {
    ...chooseAutoModels(needs.auto, needs, priced, isUsable),
    ...valueModels(needs.auto, priced),
  }
}

const candidates = (...args: Parameters<typeof choice>) => choice(...args).models

describe('the choice of auto', () => {
  test('is never a dearer model of lower quality than a cheaper one that can take the request', () => {
    const snapshot = builtCatalog([builtin, modelQuality])
    const { autoLadder: ladder } = snapshot
    const known = new Set(autoLadder(ladder).known)
    const isKnown = (index: number) => known.has(index)
    const some = fc.uniqueArray(fc.nat(ladder.length - 1), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(
        some,
        fc.constantFrom(...POINT_USD),
        fc.constantFrom(...ROUTING_PROFILES),
        fc.constantFrom(
          'hello',
          'Prove that 7 divides $n^7 - n$.',
          'Write a Python function that sorts a list.',
        ),
        (indexes, pointUsd, profile, prompt) => {
          const usable = new Set(indexes.map((index) => ladder[index]!))
          const body = { routing_profile: profile, messages: [{ role: 'user', content: prompt }] }
          const { models, qualityAt, usdPer1000At } = choice(snapshot, pointUsd, body, (model) =>
            usable.has(model),
          )
          const own = ladder.indexOf(models[0]!)
          if (!usable.has(models[0]!)) return
          for (const index of indexes) {
            const other = ladder[index]!
            if (!isRegular(other) && isRegular(models[0]!)) continue
            if (!isKnown(index) && isKnown(own)) continue
            if (profile === 'agentic' && !canDoAgentic(other)) continue
            const isBetter = qualityAt(index) > qualityAt(own) && usdPer1000At(index) < usdPer1000At(own)
            expect(isBetter, `${models[0]!.id} before ${other.id}`).toBe(false)
          }
        },
      ),
      { numRuns: 300 },
    )
  })
})

/** Not left for last: a usual window and price, with figures of its own or under the plain name of its line. */
const isRegular = (model: Model) =>
  model.contextLength >= 32_000 &&
  Number(price(model)) <= 100e6 &&
  (model.quality !== undefined || !modelLine(model.id, model.vendor).isVariant)
const canDoAgentic = (model: Model) =>
  model.supportedParameters.includes('tools') && model.offers.some((offer) => offer.exactTools)

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
  })
  type Made = typeof made extends fc.Arbitrary<infer T> ? T : never

  const idOf = ({ vendor, line, version }: Made) =>
    `${vendor}/${['m', version, line].filter((part) => part !== undefined).join('-')}`
  const toModel = (one: Made): Model => {
    const rate = picoUsdPerToken(BigInt(Math.round(one.usd * 1_000_000)))
    return model(idOf(one), [], {
      vendor: one.vendor,
      contextLength: one.contextLength,
      supportedParameters: one.takesTools ? ['tools'] : [],
      listPrice: { prompt: rate, completion: rate },
      rate: { prompt: rate, completion: rate },
    })
  }

  test('in any catalog, for any profile, price of a point and preferences', () => {
    const catalogs = fc.uniqueArray(made, { selector: idOf, minLength: 1, maxLength: 12 })
    const pointUsd = fc.constantFrom(...POINT_USD)
    fc.assert(
      fc.property(
        catalogs,
        pointUsd,
        fc.constantFrom(...ROUTING_PROFILES),
        fc.boolean(),
        (all, pointUsd, profile, asks) => {
          const known = new Map(all.map((one) => [idOf(one), one]))
          const autoLadder = all.map(toModel).sort(compareByPrice)
          const body = { routing_profile: profile, ...(asks ? { tools } : {}) }
          const usable = ({ id }: Model) => known.get(id)!.usable
          const chosen = candidates(snapshot(autoLadder), pointUsd, body, usable)
          expect(chosen.length).toBeGreaterThan(0)
          const needsTools = asks || profile === 'agentic'
          const canTake = (one: Made) => one.usable && (one.takesTools || !needsTools)
          if (!all.some(canTake)) return
          for (const model of chosen) {
            const own = known.get(model.id)!
            expect(canTake(own)).toBe(true)
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
      for (const pointUsd of POINT_USD) {
        expect(candidates(snapshot, pointUsd, {}, only).map(({ id }) => id)).toEqual([young])
        expect(candidates(snapshot, pointUsd, {}, ({ id }) => id === old).map(({ id }) => id)).toEqual([old])
      }
    }
  })
})

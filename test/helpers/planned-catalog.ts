import {
  type CatalogSnapshot,
  compareByPrice,
  type Model,
  type Offer,
  type Provider,
} from '../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../src/core/kernel/money.ts'
import { mediaRules } from '../../src/core/media/media-rules.ts'

/** Builders of catalogs for tests of planning: everything that a test does not name is plain. */

/** Pico-USD per token: a million of it is one USD per million tokens. */
export const rates = (prompt: number | bigint, completion: number | bigint) => ({
  prompt: picoUsdPerToken(BigInt(prompt)),
  completion: picoUsdPerToken(BigInt(completion)),
})

export const provider = (id: string, more: Partial<Provider> = {}): Provider => ({
  id,
  name: id,
  wire: 'chat-completions',
  baseUrl: 'http://127.0.0.1',
  apiKeyEnv: null,
  zdr: false,
  dataCollection: 'allow',
  limitParameter: 'max_tokens',
  ...more,
})

/** `upstreamModel` tells two offers of one provider apart. */
export const offer = (
  at: Provider,
  cost: number,
  more: Partial<Offer> = {},
  upstreamModel = 'up',
): Offer => ({
  id: `${at.id}/${upstreamModel}`,
  provider: at,
  upstreamModel,
  cost: rates(cost, cost),
  shared: true,
  priority: 100,
  exactTools: false,
  assistantPrefill: false,
  ...more,
})

export const model = (id: string, offers: Offer[], more: Partial<Model> = {}): Model => ({
  id,
  name: id,
  vendor: 'v',
  kind: 'chat',
  contextLength: 100_000,
  maxOutputTokens: 500,
  inputModalities: ['text'],
  media: mediaRules(id, 'v'),
  supportedParameters: ['tools'],
  reasoning: false,
  openWeights: false,
  listPrice: rates(1_000_000, 2_000_000),
  rate: rates(1_000_000, 2_000_000),
  rateVersion: 'r1',
  updatedAt: 0,
  auto: true,
  offers,
  ...more,
})

/** `offers`: by default those of the models. */
export const snapshot = (models: Model[], offers = models.flatMap((one) => one.offers)): CatalogSnapshot => ({
  version: 'v',
  generatedAt: 0,
  models: new Map(models.map((one) => [one.id, one])),
  offers: new Map(offers.map((one) => [one.id, one])),
  autoLadder: models.filter((one) => one.auto).sort(compareByPrice),
})

/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

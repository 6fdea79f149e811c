import type { Wire } from '../../src/core/catalog/catalog.ts'
import { WIRE_PATHS } from './wires.ts'

export interface TestOffer {
  /** A simulated provider: `alpha`, `beta`, … */
  at: string
  /** Its behaviour, as in docs/simulated-providers.md. */
  model: string
  cost?: string
  /** Our price of tokens read from its prompt cache; by default that of others. */
  cacheCost?: string
  /** Lower ones are tried first; by default offers are drawn, cheaper ones more often. */
  priority?: number
  assistant_prefill?: boolean
  exact_tools?: boolean
  /** The prices of its service tiers, which its provider then takes. */
  tier_percent?: Record<string, number>
  /** What the provider speaks, in all its offers; the chat-completions wire if absent. */
  wire?: Wire
}

/** A catalog of test models: id → offers, charged one dollar a million prompt tokens and two a million completion tokens. */
export type TestModels = Record<string, TestOffer[] | { offers: TestOffer[]; [field: string]: unknown }>

/**
 * The catalog document of some test models, whose providers are all at one address.
 * @param keyNames the environment variable with our key, of providers that ask for one
 */
export function catalogDocument(
  models: TestModels,
  providersUrl: string,
  keyNames: Record<string, string> = {},
) {
  const list = Object.entries(models).map(([id, entry]) => {
    const { offers, ...fields } = Array.isArray(entry) ? { offers: entry } : entry
    return {
      id,
      name: id,
      vendor: 'test',
      context_length: 100_000,
      max_output_tokens: 4_096,
      input_modalities: ['text'],
      supported_parameters: ['tools', 'response_format', 'temperature', 'top_p'],
      reasoning: false,
      open_weights: false,
      list_price: { prompt: '1.06', completion: '2.12' },
      rate: { prompt: '1.00', completion: '2.00' },
      ...fields,
      offers: offers.map(({ at, model, cost = '0.50', cacheCost, wire: _, ...more }) => ({
        provider: at,
        upstream_model: model,
        cost: { prompt: cost, completion: cost, ...(cacheCost && { cache_read: cacheCost }) },
        ...more,
      })),
    }
  })
  const wires = new Map<string, Wire>()
  const tiered = new Set<string>()
  for (const entry of Object.values(models)) {
    const offers = Array.isArray(entry) ? entry : entry.offers
    for (const { at, wire = 'chat-completions', tier_percent: tiers } of offers) {
      wires.set(at, wire)
      if (tiers) tiered.add(at)
    }
  }
  const providers = [...wires].map(([id, wire]) => ({
    id,
    name: id,
    wire,
    base_url: `${providersUrl}/${id}/${WIRE_PATHS[wire]}`,
    zdr: id === 'alpha',
    data_collection: id === 'alpha' ? 'deny' : 'allow',
    ...(tiered.has(id) && { quirks: { passes: ['service_tier'] } }),
    ...(keyNames[id] !== undefined && { api_key_env: keyNames[id] }),
  }))
  return { replace: true, providers, models: list }
}

import { type CatalogSnapshot, findModel, type Model, type Provider } from '../../core/catalog/catalog.ts'

/** Our ids of providers that other gateways call otherwise. */
const PROVIDERS: Readonly<Record<string, string>> = {
  gemini: 'google',
  'google-ai-studio': 'google',
  together_ai: 'together',
  'together-ai': 'together',
  fireworks_ai: 'fireworks',
  'fireworks-ai': 'fireworks',
  dashscope: 'alibaba',
  moonshot: 'moonshotai',
  nvidia_nim: 'nvidia',
  cohere_chat: 'cohere',
  'mistral-ai': 'mistral',
  'x-ai': 'xai',
  'perplexity-ai': 'perplexity',
  featherless_ai: 'featherless',
  vercel_ai_gateway: 'vercel',
}

/** The models of the shipped catalog by what other gateways call them. */
export interface KnownModels {
  /** The model that `provider` calls `name`, or else one whose id is alike: `claude-3-5-sonnet-20240620` is `anthropic/claude-3.5-sonnet`. */
  find(name: string, provider?: string): Model | null
  /** A provider by its id here or elsewhere. */
  provider(name: string): Provider | null
}

const DATED = /-(\d{8}|\d{4}-\d{2}-\d{2}|latest|preview)$/

/** The last part of a name, without date and with dashes only; of Bedrock without maker and version. */
const plain = (name: string): string =>
  (name.toLowerCase().split('/').at(-1) ?? '')
    .replace(/^(?:(?:us|eu|apac|global)\.)?(?:anthropic|meta|mistral|amazon|cohere|deepseek)\./, '')
    .replace(/-v\d+(:\d+)?$/, '')
    .replace(/@/, '-')
    .replace(DATED, '')
    .replace(/[._:]/g, '-')

export function knownModels(catalog: CatalogSnapshot): KnownModels {
  const offers = new Map<string, Model>()
  const alike = new Map<string, Model>()
  const providers = new Map<string, Provider>()
  for (const model of catalog.models.values()) {
    const key = plain(model.id)
    // The shorter id is the model itself, the others are dated copies.
    if (model.id.length < (alike.get(key)?.id.length ?? Number.POSITIVE_INFINITY)) alike.set(key, model)
    for (const { provider, upstreamModel } of model.offers) {
      offers.set(`${provider.id}/${upstreamModel}`, model)
      providers.set(provider.id, provider)
    }
  }
  const idOf = (provider: string) => PROVIDERS[provider] ?? provider
  return {
    find(name, provider) {
      const offered = provider === undefined ? undefined : offers.get(`${idOf(provider)}/${name}`)
      return offered ?? findModel(catalog, name) ?? alike.get(plain(name)) ?? null
    },
    provider: (name) => providers.get(idOf(name)) ?? null,
  }
}

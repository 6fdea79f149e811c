import builtin from '../../src/catalog/data/builtin.json' with { type: 'json' }
import type { DocumentProvider } from '../../src/core/catalog/catalog-document.ts'

/** A provider of the built-in catalog and where the data sources keep its models. */
export interface ImportedProvider {
  provider: DocumentProvider
  /** The name of its data file in pi-ai. */
  piAi: string
  /** Its id in genai-prices. */
  genaiPrices: string
  /** The vendor whose own service this is; null for one that runs the models of others. */
  maker: string | null
}

/** Vendors by their own services. */
const MAKERS: Record<string, string> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  mistral: 'mistralai',
  deepseek: 'deepseek',
  xai: 'x-ai',
  moonshotai: 'moonshotai',
  minimax: 'minimax',
  zai: 'z-ai',
  alibaba: 'qwen',
  cohere: 'cohere',
  perplexity: 'perplexity',
  ai21: 'ai21',
  xiaomi: 'xiaomi',
}

/** Names that a data source has for a provider, where they differ. */
const PI_AI_NAMES: Record<string, string> = { vercel: 'vercel-ai-gateway' }
const GENAI_PRICES_NAMES: Record<string, string> = { xai: 'x-ai' }

/**
 * The providers of the built-in catalog, which an import keeps as they are: to add one, add it there, makers before
 * those that run others' models. docs/providers.md has the source of each quirk, docs/catalog.md that of each `zdr`.
 */
export const IMPORTED_PROVIDERS: readonly ImportedProvider[] = (builtin.providers as DocumentProvider[]).map(
  (provider) => ({
    provider,
    piAi: PI_AI_NAMES[provider.id] ?? provider.id,
    genaiPrices: GENAI_PRICES_NAMES[provider.id] ?? provider.id,
    maker: MAKERS[provider.id] ?? null,
  }),
)

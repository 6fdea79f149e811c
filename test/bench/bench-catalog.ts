import type { CatalogDocument } from '../../src/core/catalog/catalog-document.ts'

/** The upstream models of the bench, by what they are for. */
export const BENCH_MODELS = {
  /** Answers at once with 20 tokens. */
  plain: 'sim-words-20',
  /** The same after 50 ms. */
  delayed: 'sim-words-20.latency-50',
  /** The same after a second. */
  slow: 'sim-words-20.latency-1000',
  /** The same after 300 ms, as of a small model. */
  usual: 'sim-words-20.latency-300',
  /** 10 tokens at one a second, after 30 s. */
  open: 'sim-words-10.latency-30000.rate-1',
  /** 80 tokens at 10 a second. */
  long: 'sim-words-80.rate-10',
  /** 40 tokens at 50 a second. */
  paced: 'sim-words-40.rate-50',
  /** 400 tokens as fast as they go, 4 a write. */
  burst: 'sim-words-400.burst-4',
  /** Says what it was sent, and nothing of its usage, so that the gateway counts. */
  'unmeasured-echo': 'sim-echo.missing-usage',
} as const

export type BenchModel = keyof typeof BENCH_MODELS

export const BURST_TOKENS = 400

const BASE_PATH = '/alpha/v1'

/** Where the provider answers chat completions. */
export const COMPLETIONS_PATH = `${BASE_PATH}/chat/completions`

/** A catalog of nothing but the bench's models at one provider. */
export function benchCatalog(providerPort: number): CatalogDocument {
  return {
    replace: true,
    providers: [{ id: 'bench', base_url: `http://127.0.0.1:${providerPort}${BASE_PATH}` }],
    models: Object.entries(BENCH_MODELS).map(([name, upstreamModel]) => ({
      id: `bench/${name}`,
      vendor: 'bench',
      // Long enough for the bodies of agents.
      context_length: 2_000_000,
      input_modalities: ['text', 'image'],
      supported_parameters: ['tools'],
      max_output_tokens: 4_096,
      list_price: { prompt: '0.10', completion: '0.40' },
      offers: [{ provider: 'bench', upstream_model: upstreamModel }],
    })),
  }
}

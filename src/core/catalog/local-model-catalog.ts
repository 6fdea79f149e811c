import type { CatalogDocument } from './catalog-document.ts'

/** The name of the model at its server. */
export const LOCAL_MODEL_NAME = 'gemma-3-270m'
/** What one call may fill, in tokens, of prompt and completion together. */
export const LOCAL_MODEL_CONTEXT_TOKENS = 2_048
/** It knows no end of a turn, and ends at a stop text or this limit. */
export const LOCAL_MODEL_OUTPUT_TOKENS = 256

const FREE = { prompt: '0', completion: '0' }

/** The model that `LOCAL_MODEL=1 npm start` runs, as a chat model and for embeddings, at price 0. */
export function localModelCatalog(url: string): CatalogDocument {
  const common = {
    vendor: 'local',
    context_length: LOCAL_MODEL_CONTEXT_TOKENS,
    open_weights: true,
    list_price: FREE,
    offers: [{ provider: 'local', upstream_model: LOCAL_MODEL_NAME }],
  }
  return {
    providers: [
      {
        id: 'local',
        name: 'llama.cpp on this machine',
        base_url: `${url.replace(/\/+$/, '')}/v1`,
        zdr: true,
        data_collection: 'deny',
      },
    ],
    models: [
      {
        ...common,
        id: `local/${LOCAL_MODEL_NAME}`,
        name: 'Gemma 3 270M',
        max_output_tokens: LOCAL_MODEL_OUTPUT_TOKENS,
        supported_parameters: ['temperature', 'top_p', 'response_format'],
      },
      {
        ...common,
        id: `local/${LOCAL_MODEL_NAME}-embeddings`,
        name: 'Gemma 3 270M, embeddings',
        kind: 'embeddings',
        dimensions: 640,
      },
    ],
  }
}

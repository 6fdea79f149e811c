import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type {
  CatalogDocument,
  DocumentModel,
  DocumentOffer,
} from '../../src/core/catalog/catalog-document.ts'
import { printDocument } from '../../src/core/catalog/print-document.ts'
import { type LitellmRow, openLitellmTable, perMillion, upstreamName } from './litellm-table.ts'
import { mediaModels } from './media-models.ts'

/**
 * Development tool: writes src/catalog/data/task-models.json, the models that are no chat models, from litellm's table,
 * deterministically; those that make or read files are in media-models.ts.
 *
 *   pip download litellm==1.109.1 --no-deps && unzip litellm-*.whl 'litellm/model_prices*'
 *   node tools/catalog-import/import-task-models.ts --litellm litellm --litellm-version 1.109.1 --day 2026-11-20
 */

const OUTPUT = new URL('../../src/catalog/data/task-models.json', import.meta.url)

/** Which of litellm's names are models of texts here, and where they are served; the first offer is the maker's, if it sells one. */
const MODELS: ReadonlyArray<readonly [id: string, vendor: string, offers: Record<string, string>]> = [
  ['text-embedding-3-small', 'openai', openaiAndVercel('text-embedding-3-small')],
  ['text-embedding-3-large', 'openai', openaiAndVercel('text-embedding-3-large')],
  ['text-embedding-ada-002', 'openai', openaiAndVercel('text-embedding-ada-002')],
  ['mistralai/mistral-embed', 'mistralai', { mistral: 'mistral/mistral-embed' }],
  ['cohere/embed-v4.0', 'cohere', { cohere: 'cohere/embed-v4.0' }],
  ['voyage/voyage-4-large', 'voyage', { voyage: 'voyage/voyage-4-large' }],
  ['voyage/voyage-4', 'voyage', { voyage: 'voyage/voyage-4' }],
  ['voyage/voyage-4-lite', 'voyage', { voyage: 'voyage/voyage-4-lite' }],
  ['voyage/voyage-code-4', 'voyage', { voyage: 'voyage/voyage-code-4' }],
  [
    'qwen/qwen3-embedding-8b',
    'qwen',
    {
      nebius: 'nebius/Qwen/Qwen3-Embedding-8B',
      novita: 'novita/qwen/qwen3-embedding-8b',
      scaleway: 'scaleway/qwen/qwen3-embedding-8b',
    },
  ],
  ['baai/bge-m3', 'baai', { novita: 'novita/baai/bge-m3' }],
  ['cohere/rerank-v3.5', 'cohere', { cohere: 'rerank-v3.5' }],
  ['cohere/rerank-v4.0-fast', 'cohere', { cohere: 'rerank-v4.0-fast' }],
  ['cohere/rerank-v4.0-pro', 'cohere', { cohere: 'rerank-v4.0-pro' }],
  ['voyage/rerank-2.5', 'voyage', { voyage: 'voyage/rerank-2.5' }],
  ['voyage/rerank-2.5-lite', 'voyage', { voyage: 'voyage/rerank-2.5-lite' }],
  ['jina/jina-reranker-v2-base-multilingual', 'jina', { jina: 'jina-reranker-v2-base-multilingual' }],
  ['omni-moderation-latest', 'openai', { openai: 'omni-moderation-latest' }],
  ['omni-moderation-2024-09-26', 'openai', { openai: 'omni-moderation-2024-09-26' }],
]

/** Lengths of vectors that litellm leaves out, as the makers' model cards say. */
const DIMENSIONS: Record<string, number> = {
  'mistralai/mistral-embed': 1_024,
  'qwen/qwen3-embedding-8b': 4_096,
  'baai/bge-m3': 1_024,
}

/** Whose vectors can be asked for shorter. */
const SHORTENS = /^(text-embedding-3-|voyage\/voyage-4|cohere\/embed-v4)/
const OPEN_WEIGHTS = /^(qwen|baai)\//
const KINDS: Record<string, DocumentModel['kind']> = {
  embedding: 'embeddings',
  rerank: 'rerank',
  moderation: 'moderation',
}

const { values } = parseArgs({
  options: {
    litellm: { type: 'string' },
    'litellm-version': { type: 'string' },
    day: { type: 'string' },
  },
})
const { litellm: folder, 'litellm-version': version, day } = values
if (!folder || !version || !day) {
  console.error('usage: import-task-models.ts --litellm FOLDER --litellm-version VERSION --day YYYY-MM-DD')
  process.exit(1)
}
const table = openLitellmTable(folder, day)

const document: CatalogDocument = {
  source:
    `List prices, windows, lengths of vectors and tokens of images from litellm ${version} (MIT). Written by ` +
    'tools/catalog-import/import-task-models.ts; the rules are in docs/catalog.md.',
  dated: day,
  providers: [
    {
      id: 'voyage',
      name: 'Voyage AI',
      base_url: 'https://api.voyageai.com/v1',
      api_key_env: 'VOYAGE_API_KEY',
      quirks: { dimensions_field: 'output_dimension' },
    },
    { id: 'jina', name: 'Jina AI', base_url: 'https://api.jina.ai/v1', api_key_env: 'JINA_API_KEY' },
  ],
  models: [...MODELS.map(([id, vendor, offers]) => toModel(id, vendor, offers)), ...mediaModels(table)],
}
writeFileSync(OUTPUT, printDocument(document))

function openaiAndVercel(name: string): Record<string, string> {
  return { openai: name, vercel: `vercel_ai_gateway/openai/${name}` }
}

function toModel(id: string, vendor: string, offers: Record<string, string>): DocumentModel {
  const rows = Object.entries(offers).map(([provider, key]) => ({ provider, key, row: table.row(key) }))
  const prices = rows.map(({ row }) => pricesOf(row)).sort((a, b) => Number(a.prompt) - Number(b.prompt))
  // The maker's price, or where only hosts sell it the median, the higher of two middle ones.
  const listPrice = OPEN_WEIGHTS.test(id) ? prices[Math.floor(prices.length / 2)]! : pricesOf(rows[0]!.row)
  const [{ row: first }] = rows as [(typeof rows)[number]]
  const kind = KINDS[first.mode ?? '']
  if (kind === undefined) throw new Error(`${id}: litellm lists it for ${first.mode}`)
  const dimensions = DIMENSIONS[id] ?? first.output_vector_size
  return {
    id,
    name: id.slice(id.lastIndexOf('/') + 1),
    vendor,
    kind,
    ...(kind === 'embeddings' && { dimensions: integer(dimensions, id) }),
    ...(listPrice.units !== undefined && { unit: 'search' as const }),
    context_length: Math.max(...rows.map(({ row }) => integer(row.max_input_tokens ?? 0, id))),
    ...(SHORTENS.test(id) && { supported_parameters: ['dimensions'] }),
    ...(OPEN_WEIGHTS.test(id) && { open_weights: true }),
    list_price: listPrice,
    offers: rows.map(({ provider, key, row }): DocumentOffer => {
      const own = pricesOf(row)
      return {
        provider,
        upstream_model: upstreamName(key, row),
        ...(own.prompt !== listPrice.prompt && { list_price: own }),
      }
    }),
  }
}

/** USD per million tokens, or per million searches. */
function pricesOf(row: LitellmRow): DocumentModel['list_price'] {
  const search = row.input_cost_per_query
  return {
    prompt: perMillion(row.input_cost_per_token),
    completion: '0',
    ...(search !== undefined && { units: perMillion(search) }),
  }
}

function integer(value: unknown, id: string): number {
  if (!Number.isInteger(value)) throw new Error(`${id}: ${value} is no whole number`)
  return value as number
}

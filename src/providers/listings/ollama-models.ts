import type { DocumentModel } from '../../core/catalog/catalog-document.ts'
import type { CatalogSource } from '../../core/catalog/catalog-snapshot.ts'
import { readJson } from './read-listing.ts'

const DEADLINE_MS = 2_000
/** Ollama's list has no context windows. Its models support this many tokens; a larger window needs a catalog file. */
const CONTEXT_LENGTH = 8_192
const FREE = { prompt: '0', completion: '0' }

/**
 * The models of a local Ollama as a catalog document, at price 0. Rejects if Ollama does not respond in time or
 * responds with anything but a model list.
 */
export async function readOllamaCatalog(url: string, updatedAt: number): Promise<CatalogSource> {
  const baseUrl = `${url.replace(/\/+$/, '')}/v1`
  const names = modelNames(await readJson(`${baseUrl}/models`, {}, AbortSignal.timeout(DEADLINE_MS)))
  if (!names) throw new Error(`the Ollama at ${url} did not return a model list`)
  const models = new Map<string, DocumentModel>()
  for (const name of names) {
    const model = toModel(name)
    if (!models.has(model.id)) models.set(model.id, model)
  }
  const providers = [{ id: 'ollama', name: 'Ollama', base_url: baseUrl, zdr: true, data_collection: 'deny' }]
  return { name: `the Ollama at ${url}`, content: { providers, models: [...models.values()] }, updatedAt }
}

function modelNames(body: unknown): string[] | null {
  const data = (body as { data?: unknown } | null)?.data
  // An Ollama without a model sends null instead of an empty list.
  if (data === null) return []
  if (!Array.isArray(data)) return null
  return (
    data
      .map((entry: { id?: unknown } | null) => entry?.id)
      .filter((id): id is string => typeof id === 'string' && /^[A-Za-z0-9][^\s]{0,150}$/.test(id))
      // The list includes embedding models, which do not support chat.
      .filter((id) => !/embed/i.test(id))
  )
}

function toModel(name: string): DocumentModel {
  return {
    // A colon begins a routing suffix in a model id, so that `llama3.2:3b` becomes `llama3.2-3b`.
    id: `ollama/${name.replace(/:latest$/, '').replace(/[^A-Za-z0-9._/@+-]/g, '-')}`,
    name,
    vendor: 'ollama',
    context_length: CONTEXT_LENGTH,
    supported_parameters: ['temperature', 'top_p', 'tools', 'response_format'],
    open_weights: true,
    list_price: FREE,
    offers: [{ provider: 'ollama', upstream_model: name }],
  }
}

import type { Provider, Wire } from '../../core/catalog/catalog.ts'
import { isObject } from '../../core/json/json-object.ts'
import { readBoundedBody } from '../../platform/network/read-bounded-body.ts'

/** How a wire lists models: the path, the header of the key, and the form of a page. */
interface ListingWire {
  path: string
  keyHeader: string
  headers?: Record<string, string>
  /** The models of a page, by the names that calls use, and the query of the next page if there is one. */
  readPage(body: unknown): { models: string[]; next: string | null }
}

const DEADLINE_MS = 10_000
const PAGES_MAX = 20
const BODY_MAX_BYTES = 16 * 1024 * 1024

const OPENAI: ListingWire = {
  path: '/models',
  keyHeader: 'authorization',
  readPage: (body) => ({ models: idsOf(listIn(body, 'data')), next: null }),
}

const WIRES: Record<Wire, ListingWire> = {
  'chat-completions': OPENAI,
  responses: OPENAI,
  // It has none; providers with credentials are not asked.
  'bedrock-converse': OPENAI,
  'anthropic-messages': {
    path: '/models?limit=1000',
    keyHeader: 'x-api-key',
    headers: { 'anthropic-version': '2023-06-01' },
    readPage(body) {
      const { has_more: hasMore, last_id: lastId } = body as { has_more?: unknown; last_id?: unknown }
      const next =
        hasMore === true && typeof lastId === 'string' ? `after_id=${encodeURIComponent(lastId)}` : null
      return { models: idsOf(listIn(body, 'data')), next }
    },
  },
  'google-generate-content': {
    path: '/models?pageSize=1000',
    keyHeader: 'x-goog-api-key',
    readPage(body) {
      const { nextPageToken: token } = body as { nextPageToken?: unknown }
      const names = listIn(body, 'models').map((entry) => (entry as { name?: unknown } | null)?.name)
      const models = names.filter((name) => typeof name === 'string').map(withoutPrefix)
      return {
        models,
        next: typeof token === 'string' && token !== '' ? `pageToken=${encodeURIComponent(token)}` : null,
      }
    },
  },
}

/**
 * Reads the models that a provider lists, page by page, within one deadline. Rejects with a readable Error if the
 * provider does not respond in time or returns no list; the error's text never contains the key.
 */
export async function readListing(provider: Provider, key: string | undefined): Promise<Set<string>> {
  const wire = WIRES[provider.wire]
  const signal = AbortSignal.timeout(DEADLINE_MS)
  const models = new Set<string>()
  let query: string | null = ''
  for (let page = 0; page < PAGES_MAX && query !== null; page++) {
    const url = `${provider.baseUrl}${wire.path}${query && `${wire.path.includes('?') ? '&' : '?'}${query}`}`
    const body = await readJson(url, headersOf(provider, wire, key), signal)
    const found = wire.readPage(body)
    for (const model of found.models) models.add(model)
    query = found.next
  }
  return models
}

/** Reads the entries of a list of the chat-completions wire, as the provider has them. Rejects as `readListing` does. */
export async function readListedModels(
  provider: Provider,
  key: string | undefined,
): Promise<Array<Record<string, unknown>>> {
  const signal = AbortSignal.timeout(DEADLINE_MS)
  const url = provider.baseUrl + OPENAI.path
  const body = await readJson(url, headersOf(provider, WIRES[provider.wire], key), signal)
  return listIn(body, 'data').filter(isObject)
}

/** Requests the first page, with a key or without. A redirect is an error; the caller must cancel the body. */
export function openListing(
  provider: Provider,
  key: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  const wire = WIRES[provider.wire]
  const headers = headersOf(provider, wire, key)
  return fetch(provider.baseUrl + wire.path, { headers, signal, redirect: 'error' })
}

function headersOf(provider: Provider, wire: ListingWire, key: string | undefined): Record<string, string> {
  const header = provider.quirks?.authHeader ?? wire.keyHeader
  return {
    ...wire.headers,
    ...provider.quirks?.headers,
    ...(key !== undefined && { [header]: header === 'authorization' ? `Bearer ${key}` : key }),
  }
}

/**
 * Reads a body of at most 16 MiB. A redirect is an error, because `fetch` would send a key that has its own header to
 * any target.
 */
export async function readJson(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<unknown> {
  const response = await fetch(url, { headers, signal, redirect: 'error' })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`GET ${url} returned ${response.status}`)
  }
  const text = await readBoundedBody(response, BODY_MAX_BYTES, `GET ${url}`)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(`GET ${url} returned no JSON`, { cause })
  }
}

/** The list itself, or the list in the field `name`. */
function listIn(body: unknown, name: string): unknown[] {
  const list = Array.isArray(body) ? body : (body as Record<string, unknown> | null)?.[name]
  if (!Array.isArray(list)) throw new Error('the response contains no list of models')
  return list
}

const idsOf = (entries: readonly unknown[]): string[] =>
  entries
    .map((entry) => (entry as { id?: unknown } | null)?.id)
    .filter((id) => typeof id === 'string')
    .map(withoutPrefix)

/** One vendor prefixes the ids of its list with `models/`, and takes ids without the prefix. */
const withoutPrefix = (id: string): string => id.replace(/^models\//, '')

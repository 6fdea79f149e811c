/**
 * Every surface of the API with its stability status; the router is built from this list, and nothing else
 * is routed under /v1. Only `Stable` is a contract. Statuses and behaviour: docs/api.md.
 */
export type SurfaceStatus =
  | 'Stable'
  | 'Limited'
  | 'Provider-specific'
  | 'Not a product-key surface'
  | 'Not release-ready'
  | 'Not implemented'
  | 'Public'

export type SurfaceHandler =
  | 'chat-completions'
  | 'models'
  | 'pricing'
  | 'generations'
  | 'key'
  | 'credits'
  | 'usage'
  | 'usage-calls'
  | 'provider-keys'
  | 'provider-key'

export interface Surface {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  status: SurfaceStatus
  /** Null: not for ordinary keys; answers 404 `surface_unavailable`. */
  handler: SurfaceHandler | null
}

export const SURFACES: readonly Surface[] = [
  { method: 'POST', path: '/v1/chat/completions', status: 'Stable', handler: 'chat-completions' },
  { method: 'GET', path: '/v1/models', status: 'Limited', handler: 'models' },
  { method: 'GET', path: '/v1/generations/:id', status: 'Limited', handler: 'generations' },
  { method: 'GET', path: '/v1/key', status: 'Limited', handler: 'key' },
  { method: 'GET', path: '/v1/credits', status: 'Limited', handler: 'credits' },
  { method: 'GET', path: '/v1/usage', status: 'Limited', handler: 'usage' },
  { method: 'GET', path: '/v1/usage/calls', status: 'Limited', handler: 'usage-calls' },
  { method: 'GET', path: '/v1/provider-keys', status: 'Limited', handler: 'provider-keys' },
  { method: 'POST', path: '/v1/provider-keys', status: 'Limited', handler: 'provider-keys' },
  { method: 'PATCH', path: '/v1/provider-keys/:id', status: 'Limited', handler: 'provider-key' },
  { method: 'DELETE', path: '/v1/provider-keys/:id', status: 'Limited', handler: 'provider-key' },
  { method: 'GET', path: '/pricing.json', status: 'Public', handler: 'pricing' },
  { method: 'POST', path: '/v1/messages', status: 'Provider-specific', handler: null },
  { method: 'POST', path: '/v1/messages/count_tokens', status: 'Not a product-key surface', handler: null },
  { method: 'POST', path: '/v1/responses', status: 'Not a product-key surface', handler: null },
  { method: 'POST', path: '/v1/embeddings', status: 'Not release-ready', handler: null },
  { method: 'POST', path: '/v1/rerank', status: 'Not release-ready', handler: null },
  { method: 'POST', path: '/v1/images/generations', status: 'Not release-ready', handler: null },
  { method: 'POST', path: '/v1/images/edits', status: 'Not release-ready', handler: null },
  { method: 'POST', path: '/v1/audio/speech', status: 'Not release-ready', handler: null },
  { method: 'POST', path: '/v1/audio/transcriptions', status: 'Not release-ready', handler: null },
  { method: 'POST', path: '/v1/audio/translations', status: 'Not release-ready', handler: null },
  { method: 'POST', path: '/v1/moderations', status: 'Not release-ready', handler: null },
  { method: 'POST', path: '/v1/completions', status: 'Not a product-key surface', handler: null },
  { method: 'POST', path: '/v1/files', status: 'Not a product-key surface', handler: null },
  { method: 'POST', path: '/v1/batches', status: 'Not a product-key surface', handler: null },
  { method: 'POST', path: '/v1/fine_tuning/jobs', status: 'Not a product-key surface', handler: null },
  { method: 'POST', path: '/v1/realtime/sessions', status: 'Not a product-key surface', handler: null },
]

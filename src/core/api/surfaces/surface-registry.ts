/** The specification's statuses, and `Public` for surfaces without authentication. Only `Stable` is a contract. */
export const SURFACE_STATUSES = [
  'Stable',
  'Limited',
  'Provider-specific',
  'Not a product-key surface',
  'Not release-ready',
  'Not implemented',
  'Public',
] as const
export type SurfaceStatus = (typeof SURFACE_STATUSES)[number]

/**
 * Who may use a surface. `open`: every key, or everyone if it is `Public`. `granted`: the keys and accounts that an
 * operator granted it to. `closed`: no key. For all others it is 404 `surface_unavailable`.
 */
export type SurfaceAccess = 'open' | 'granted' | 'closed'

export type SurfaceMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** One operation of the API. */
export interface Surface {
  id: SurfaceId
  /** The surface whose handler serves it: its own id, or for a surface of `EXTENDED` that of the one under /v1. */
  handler: HandlerId
  /** It is part of the extended contract: one base address, /v2, with everything open. */
  isExtended: boolean
  method: SurfaceMethod
  /** With parameters in braces: `/v1/generations/{id}`. */
  path: string
  status: SurfaceStatus
  access: SurfaceAccess
  /** One sentence. */
  behaviour: string
  lifecycle: SurfaceLifecycle
}

/** ISO 8601 dates that every response of a surface announces. */
export interface SurfaceLifecycle {
  /** Start of the deprecation: header `Deprecation` (RFC 9745). */
  deprecation?: string
  /** End of the surface: header `Sunset` (RFC 8594). */
  sunset?: string
}

type Entry = readonly [
  operation: `${SurfaceMethod} /${string}`,
  status: SurfaceStatus,
  access: SurfaceAccess,
  behaviour: string,
  lifecycle?: SurfaceLifecycle,
]

const ISOLATED = 'Its handlers are isolated from public routing.'

/** Every surface by its id. An entry whose access is not `closed` needs a route in src/http/public/surfaces.ts. */
const ENTRIES = {
  'chat-completions': [
    'POST /v1/chat/completions',
    'Stable',
    'open',
    'A chat completion, whole or streamed.',
  ],
  'chat-completions.extended': [
    'POST /v2/chat/completions',
    'Limited',
    'open',
    'A chat completion with tool loops, reasoning and the fields that the stable contract leaves out.',
  ],
  models: ['GET /v1/models', 'Limited', 'open', 'Lists the model `auto`; admin keys see the catalog.'],
  'models.catalog': [
    'GET /v2/models',
    'Limited',
    'open',
    'The catalog: every model that the key may name, with its parameters and rates.',
  ],
  'models.catalog.get': ['GET /v2/models/{id}', 'Limited', 'open', 'One model of the catalog.'],
  generation: [
    'GET /v1/generations/{id}',
    'Limited',
    'open',
    'One call of the account: usage, cost, timings.',
  ],
  'generation.feedback': [
    'POST /v1/generations/{id}/feedback',
    'Limited',
    'open',
    'How well a call of `auto` was answered, for reports.',
  ],
  key: [
    'GET /v1/key',
    'Limited',
    'open',
    'Limits of the calling key, what remains of them, and the balance.',
  ],
  credits: ['GET /v1/credits', 'Limited', 'open', 'Credit, usage and spendable balance of the account.'],
  usage: [
    'GET /v1/usage',
    'Limited',
    'open',
    'Calls, tokens and cost by day, model, key or group, JSON or CSV.',
  ],
  'usage.calls': ['GET /v1/usage/calls', 'Limited', 'open', 'Single calls, paged or as one CSV stream.'],
  surfaces: ['GET /v1/surfaces', 'Limited', 'open', 'This list, and which surfaces the calling key may use.'],
  'provider-keys.list': ['GET /v1/provider-keys', 'Limited', 'open', 'The BYOK keys of the account.'],
  'provider-keys.create': ['POST /v1/provider-keys', 'Limited', 'open', 'Stores and checks a BYOK key.'],
  'provider-keys.update': [
    'PATCH /v1/provider-keys/{id}',
    'Limited',
    'open',
    'Changes or disables a BYOK key.',
  ],
  'provider-keys.delete': ['DELETE /v1/provider-keys/{id}', 'Limited', 'open', 'Deletes a BYOK key.'],
  'presets.list': ['GET /v2/presets', 'Limited', 'open', 'The latest version of each preset of the account.'],
  'presets.create': [
    'POST /v2/presets',
    'Limited',
    'open',
    'Saves a version of a preset, or restores an earlier one.',
  ],
  'presets.get': [
    'GET /v2/presets/{name}',
    'Limited',
    'open',
    'One version of a preset, and the versions that are kept.',
  ],
  'presets.delete': ['DELETE /v2/presets/{name}', 'Limited', 'open', 'Deletes a preset with its versions.'],
  'budgets.list': [
    'GET /v2/budgets',
    'Limited',
    'open',
    'Budgets of projects, tags and end users, with what they spent.',
  ],
  'budgets.set': ['POST /v2/budgets', 'Limited', 'open', 'Creates or changes a budget.'],
  'budgets.delete': ['DELETE /v2/budgets', 'Limited', 'open', 'Deletes a budget.'],
  'guardrails.list': ['GET /v2/guardrails', 'Limited', 'open', 'Services that judge prompts and answers.'],
  'guardrails.set': ['POST /v2/guardrails', 'Limited', 'open', 'Creates or changes a guardrail.'],
  'guardrails.delete': ['DELETE /v2/guardrails', 'Limited', 'open', 'Deletes a guardrail.'],
  'guardrails.test': ['POST /v2/guardrails/test', 'Limited', 'open', 'Asks a guardrail about a text.'],
  pricing: ['GET /pricing.json', 'Public', 'open', 'Live retail rates as timestamped JSON; CORS open.'],
  openapi: ['GET /openapi.json', 'Public', 'open', 'The OpenAPI 3.1 document of every route; CORS open.'],
  'surfaces.public': [
    'GET /surfaces.json',
    'Public',
    'open',
    'This table as JSON, with evidence; CORS open.',
  ],
  messages: [
    'POST /v1/messages',
    'Provider-specific',
    'open',
    'Works only when routing selects a target that speaks the vendor-native messages wire.',
  ],
  'messages.count-tokens': [
    'POST /v1/messages/count_tokens',
    'Not a product-key surface',
    'granted',
    "The tokens of a prompt, by the gateway's own tokenizer; not to be relied on.",
  ],
  responses: [
    'POST /v1/responses',
    'Not a product-key surface',
    'granted',
    'One turn for client libraries, stored for the next. Use chat completions.',
  ],
  'responses.get': [
    'GET /v1/responses/{id}',
    'Not a product-key surface',
    'granted',
    'A stored response. Open where `responses` is.',
  ],
  'responses.delete': [
    'DELETE /v1/responses/{id}',
    'Not a product-key surface',
    'granted',
    'Deletes a stored response. Open where `responses` is.',
  ],
  'responses.cancel': [
    'POST /v1/responses/{id}/cancel',
    'Not a product-key surface',
    'granted',
    'Cancels a response in background. Open where `responses` is.',
  ],
  'responses.input-items': [
    'GET /v1/responses/{id}/input_items',
    'Not a product-key surface',
    'granted',
    'The input of a stored response. Open where `responses` is.',
  ],
  'responses.compact': [
    'POST /v2/responses/compact',
    'Limited',
    'open',
    'A shorter input in place of a conversation: the messages of the user, and a summary by the model.',
  ],
  embeddings: [
    'POST /v1/embeddings',
    'Not release-ready',
    'granted',
    'Vectors of texts. Served end to end, but not under the stable contract.',
  ],
  rerank: [
    'POST /v1/rerank',
    'Not release-ready',
    'granted',
    'Documents by their relevance to a query. Not verified with every provider.',
  ],
  'images.generations': [
    'POST /v1/images/generations',
    'Not release-ready',
    'granted',
    'Images from a prompt. Not verified with every provider.',
  ],
  'images.edits': [
    'POST /v1/images/edits',
    'Not release-ready',
    'granted',
    'Images from images and a prompt. Not verified with every provider.',
  ],
  'audio.speech': [
    'POST /v1/audio/speech',
    'Not release-ready',
    'granted',
    'Speech from a text. Not verified with every provider.',
  ],
  'audio.transcriptions': [
    'POST /v1/audio/transcriptions',
    'Not release-ready',
    'granted',
    'The text of a recording. Not verified with every provider.',
  ],
  'audio.translations': [
    'POST /v1/audio/translations',
    'Not release-ready',
    'granted',
    'The text of a recording, in English. Not verified with every provider.',
  ],
  moderations: [
    'POST /v1/moderations',
    'Not release-ready',
    'granted',
    'Verdicts on texts and images. Not verified with every provider.',
  ],
  completions: ['POST /v1/completions', 'Not a product-key surface', 'closed', ISOLATED],
  files: ['POST /v1/files', 'Not a product-key surface', 'closed', ISOLATED],
  batches: ['POST /v1/batches', 'Not a product-key surface', 'closed', ISOLATED],
  'fine-tuning': ['POST /v1/fine_tuning/jobs', 'Not a product-key surface', 'closed', ISOLATED],
  realtime: ['POST /v1/realtime/sessions', 'Not a product-key surface', 'closed', ISOLATED],
  'generate-content': [
    'POST /v1beta/models/{model}:generateContent',
    'Not implemented',
    'closed',
    'The models of that developer are called through chat completions.',
  ],
  videos: ['POST /v1/videos', 'Not implemented', 'closed', 'Video is on the roadmap and has no endpoint.'],
} satisfies Record<string, Entry>

type HandlerId = keyof typeof ENTRIES

/**
 * The surfaces that are also mounted under /v2, open to every key, by the handler of the one under /v1, with their
 * behaviour there. `embeddings` is there as the surface `embeddings.extended`.
 */
const EXTENDED = {
  messages: 'A message on the messages wire, by any model; also at /v2/v1/messages, the path of its clients.',
  'messages.count-tokens':
    'The tokens of a prompt for a model: exact where its tokenizer is known, else an upper bound.',
  responses: 'One turn on the responses wire, for every chat model; it can continue stored ones.',
  'responses.get': 'A stored response.',
  'responses.delete': 'Deletes a stored response.',
  'responses.cancel': 'Cancels a response in background.',
  'responses.input-items': 'The items of the input of a stored response.',
  embeddings: 'Vectors of texts.',
  rerank: 'Documents by their relevance to a query.',
  'images.generations': 'Images from a prompt.',
  'images.edits': 'Images from images and a prompt.',
  'audio.speech': 'Speech from a text.',
  'audio.transcriptions': 'The text of a recording.',
  'audio.translations': 'The text of a recording, in English.',
  moderations: 'Verdicts on texts and images.',
  generation: 'One call of the account: usage, cost, timings.',
  'generation.feedback': 'How well a call of `auto` was answered, for reports.',
  key: 'Limits of the calling key, what remains of them, and the balance.',
  credits: 'Credit, usage and spendable balance of the account.',
  usage: 'Calls, tokens and cost by day, model, key or group, JSON or CSV.',
  'usage.calls': 'Single calls, paged or as one CSV stream.',
  surfaces: 'Every surface, and which of them the calling key may use.',
  'provider-keys.list': 'The BYOK keys of the account.',
  'provider-keys.create': 'Stores and checks a BYOK key.',
  'provider-keys.update': 'Changes or disables a BYOK key.',
  'provider-keys.delete': 'Deletes a BYOK key.',
} satisfies Partial<Record<HandlerId, string>>

export type SurfaceId = HandlerId | `${keyof typeof EXTENDED}.extended`

const REGISTERED: readonly Surface[] = Object.entries<Entry>(ENTRIES).map(
  ([id, [operation, status, access, behaviour, lifecycle = {}]]) => {
    const handler = id as HandlerId
    const [method, path] = operation.split(' ') as [SurfaceMethod, string]
    const isExtended = path.startsWith('/v2/')
    return { id: handler, handler, isExtended, method, path, status, access, behaviour, lifecycle }
  },
)

function extendedSurface(surface: Surface): Surface[] {
  const behaviours: Partial<Record<HandlerId, string>> = EXTENDED
  const behaviour = behaviours[surface.handler]
  if (behaviour === undefined) return []
  return [
    {
      ...surface,
      id: `${surface.handler}.extended` as SurfaceId,
      isExtended: true,
      path: surface.path.replace('/v1/', '/v2/'),
      status: 'Limited',
      access: 'open',
      behaviour,
    },
  ]
}

/** Every surface, in the order of the documentation. The router, the documents and the status page are built from it. */
export const SURFACES: readonly Surface[] = [...REGISTERED, ...REGISTERED.flatMap(extendedSurface)]

/** Whether a key with these grants may use a surface. A grant of `responses` opens its resources, such as `responses.get`. */
export const mayUse = ({ access, id }: Pick<Surface, 'access' | 'id'>, granted: readonly string[]): boolean =>
  access === 'open' ||
  (access === 'granted' && granted.some((surface) => surface === id || id.startsWith(`${surface}.`)))

/** The headers of a deprecated surface: `Deprecation` as in RFC 9745, `Sunset` as in RFC 8594. */
export function lifecycleHeaders({ deprecation, sunset }: SurfaceLifecycle): Record<string, string> {
  return {
    ...(deprecation !== undefined && { deprecation: `@${Math.floor(Date.parse(deprecation) / 1000)}` }),
    ...(sunset !== undefined && { sunset: new Date(sunset).toUTCString() }),
  }
}

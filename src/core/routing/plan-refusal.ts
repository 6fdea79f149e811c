import { AUTO_MODEL } from '../auto/routing-profiles.ts'
import type { CallNeeds } from '../calls/kinds/call-kind.ts'
import { surfaceOf } from '../calls/kinds/call-kinds.ts'
import { makersTool } from '../calls/makers-tools.ts'
import { type CatalogSnapshot, findModel, MODEL_KINDS, type ModelKind } from '../catalog/catalog.ts'
import { schemaTooLarge, tooLargeSchema } from '../json/schema-limits.ts'
import { ApiError, type ErrorCode, type ErrorDetails } from '../kernel/errors.ts'
import { nearModelIds } from './near-models.ts'

/** Why a model or an offer is not a candidate; the most informative reason determines the error. */
export type Obstacle =
  | 'allow-list'
  | 'schema'
  | 'shape'
  | 'wire'
  | 'context'
  | 'result'
  | 'unserved'
  | 'preferences'
  | 'byok-keys'

/** Errors by their obstacle, the most informative first. */
const REFUSALS: ReadonlyArray<[Obstacle, ErrorCode, message: string, ErrorDetails]> = [
  [
    'allow-list',
    'not_permitted',
    'None of the providers that this API key may use serves this model. Choose another model, or change the allowed providers of the key.',
    { param: 'model' },
  ],
  [
    'byok-keys',
    'no_provider_available',
    "None of this account's own provider keys meets the preferences of this request, and they allow no fallback to shared capacity. Loosen `provider`, or set `allow_fallback` on the key.",
    { shouldRetry: false },
  ],
  [
    'preferences',
    'no_provider_available',
    "No provider meets the preferences of this request. Loosen `provider` or the model suffix; the model's page in the console lists its providers.",
    { shouldRetry: false },
  ],
  [
    'unserved',
    'no_provider_available',
    'No provider is available for this model. Choose another: GET /pricing.json lists the available models.',
    { shouldRetry: false },
  ],
  [
    'context',
    'context_length_exceeded',
    'The messages are longer than the context window of any eligible model. Shorten them.',
    { param: 'messages' },
  ],
]

/** The ApiError for a request without a candidate. */
export function planRefusal(
  obstacles: ReadonlySet<Obstacle>,
  { byAddress, modalities, schemas, result, fields }: CallNeeds,
): ApiError {
  if (obstacles.has('schema')) return schemaTooLarge(tooLargeSchema(schemas) ?? 'tools')
  if (result?.refusal && obstacles.has('result')) return result.refusal()
  if (result && obstacles.has('context')) return inputTooLong(fields.text)
  const refusal = REFUSALS.find(([obstacle]) => obstacles.has(obstacle))
  if (refusal) return new ApiError(refusal[1], refusal[2], refusal[3])
  if (obstacles.has('wire') && !obstacles.has('shape'))
    return messagesWireUnspoken('No provider of this model')
  const media = byAddress.map((modality) => (modality === 'file' ? 'documents' : 'videos')).join(' and ')
  return new ApiError(
    'unsupported_shape',
    media === ''
      ? `No eligible model takes this input (${modalities.join(', ')}). Choose a model that does.`
      : `No eligible model takes ${media} by address, since what they cost is not known before they are fetched. Send them inside the request, as a data URL.`,
    { param: fields.media },
  )
}

/** The ApiError for a request on the messages wire if no provider speaks it. `who` is the subject of the sentence. */
export const messagesWireUnspoken = (who: string): ApiError =>
  new ApiError(
    'surface_unavailable',
    `${who} speaks the messages wire. POST /v2/messages supports every model, as does POST /v1/chat/completions.`,
  )

/** The ApiError for an extended request with a parameter that no offer supports. */
export const unsupportedParameter = (name: string): ApiError =>
  makersTool(name) !== null
    ? unknownTool(name)
    : new ApiError(
        'unsupported_shape',
        `No eligible provider supports \`${name}\` in this request. Omit it, choose another model, or set \`provider.require_parameters\` to false to ignore it.`,
        { param: name },
      )

/** Only providers of the wire that a tool was defined for know it. */
const unknownTool = (type: string): ApiError =>
  new ApiError(
    'invalid_request',
    `No eligible provider has the tool \`${type}\`: providers of other wires do not know it. Leave it out, define a tool with a schema, or choose another model.`,
    { param: 'tools' },
  )

const inputTooLong = (param: string): ApiError =>
  new ApiError(
    'context_length_exceeded',
    'An input is longer than the context window of any eligible model. Shorten it.',
    { param },
  )

const notFound = (names: readonly string[]): string =>
  names.length === 1
    ? `Model "${names[0]}" not found.`
    : `Models not found: ${names.map((name) => `"${name}"`).join(', ')}.`

/** The ApiError for names that are models, none of which the key may use. */
export const modelNotAllowed = (names: readonly string[]): ApiError =>
  new ApiError(
    'not_permitted',
    `This API key may not use ${names.map((name) => `"${name}"`).join(', ')}. Choose another model, or change the allowed models of the key.`,
    { param: names.length > 1 ? 'models' : 'model' },
  )

/** The ApiError for names that are no models of this kind. It describes the first one, or suggests similar ids. */
export function modelNotFound(
  names: readonly string[],
  suffixes: readonly string[],
  catalog: CatalogSnapshot,
  kind: ModelKind = 'chat',
): ApiError {
  const [first = ''] = names
  const colon = first.lastIndexOf(':')
  const base = colon < 0 ? first : first.slice(0, colon)
  const isKnown = (kind === 'chat' && base === AUTO_MODEL) || findModel(catalog, base, kind) !== null
  const otherKind = MODEL_KINDS.find((other) => other !== kind && findModel(catalog, base, other) !== null)
  if (!isKnown && otherKind !== undefined)
    return new ApiError(
      'model_not_found',
      `Model "${base}" is of kind ${otherKind}: call it by ${surfaceOf(otherKind)}.`,
      { param: names.length > 1 ? 'models' : 'model' },
    )
  const near = isKnown ? [] : nearModelIds(base, catalog, kind)
  const hints = [
    ...(isKnown ? [`The suffixes of a model are ${suffixes.map((name) => `:${name}`).join(', ')}.`] : []),
    ...(near.length > 0 ? [`Did you mean ${near.join(' or ')}?`] : []),
    'GET /pricing.json lists every id.',
  ]
  return new ApiError('model_not_found', `${notFound(names)} ${hints.join(' ')}`, {
    param: names.length > 1 ? 'models' : 'model',
  })
}

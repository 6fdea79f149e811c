import { ApiError } from './errors.ts'
import type { RequestShape } from './request-shape.ts'

/** Why a model or an offer is no candidate; the most telling reason decides the refusal. */
export type Obstacle = 'shape' | 'context' | 'unserved' | 'preferences' | 'own-keys'

/** The ApiError for a request that leaves nothing to try. */
export function planRefusal(obstacles: ReadonlySet<Obstacle>, shape: RequestShape): ApiError {
  if (obstacles.has('own-keys')) {
    return new ApiError(
      'no_provider_available',
      "None of this account's own provider keys meets the preferences of this request, and they allow no fallback to shared capacity. Loosen `provider`, or set `allow_fallback` on the key.",
      { shouldRetry: false },
    )
  }
  if (obstacles.has('preferences')) {
    return new ApiError(
      'no_provider_available',
      'No provider meets the preferences of this request. Loosen `provider` or the model suffix.',
      {
        shouldRetry: false,
      },
    )
  }
  if (obstacles.has('unserved')) {
    return new ApiError(
      'no_provider_available',
      'Nobody serves this model at present. Choose another: GET /pricing.json tells which are available.',
      {
        shouldRetry: false,
      },
    )
  }
  if (obstacles.has('context')) {
    return new ApiError(
      'context_length_exceeded',
      'The messages are longer than the context window of any eligible model. Shorten them.',
      {
        param: 'messages',
      },
    )
  }
  return new ApiError(
    'unsupported_shape',
    `No eligible model takes this input (${shape.modalities.join(', ')}). Choose a model that does.`,
    {
      param: 'messages',
    },
  )
}

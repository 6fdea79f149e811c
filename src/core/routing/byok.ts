import type { Provider } from '../catalog/catalog.ts'

/** A BYOK key at a provider, as planning knows it: never its secret. */
export interface ByokKey {
  id: string
  providerId: string
  /** Whether its owner lets calls go on to shared capacity when it fails. */
  allowFallback: boolean
}

/** Whether clients may bring keys for a provider: one that asks for none has nothing to bill them by. */
export const takesByokKeys = ({ apiKeyEnv }: Pick<Provider, 'apiKeyEnv'>): boolean => apiKeyEnv !== null

/** The purpose of the sealer of BYOK keys. */
export const BYOK_KEY_PURPOSE = 'provider-key'

/** What a sealed BYOK key is bound to: in another account's row, or another key's, it does not open. */
export const byokKeyContext = (accountId: string, keyId: string): string => `${accountId}/${keyId}`

/**
 * How a key does: `unreachable` while its provider cannot be reached with it, `failing` after three refusals in a row,
 * `refused` when the last word of its provider was a refusal, `unchecked` until its provider is known to have taken it.
 */
export type ByokKeyStatus = 'active' | 'unchecked' | 'unreachable' | 'refused' | 'failing' | 'disabled'

export function byokKeyStatus(key: {
  disabled: boolean
  refusals: number
  lastError: string | null
  failingSince: Date | null
  acceptedAt: Date | null
}): ByokKeyStatus {
  if (key.disabled) return 'disabled'
  if (key.refusals > 0 && key.lastError === 'unreachable') return 'unreachable'
  if (key.failingSince !== null) return 'failing'
  if (key.refusals > 0) return 'refused'
  return key.acceptedAt === null ? 'unchecked' : 'active'
}

const REFUSALS: Record<number, ByokFailure> = {
  400: 'unauthorized',
  401: 'unauthorized',
  402: 'payment_required',
  403: 'forbidden',
  404: 'model_not_found',
}

/** Why an attempt on a BYOK key did not work, as its owner is told. */
export type ByokFailure =
  | 'unauthorized'
  | 'payment_required'
  | 'forbidden'
  | 'model_not_found'
  | 'not_in_use'
  | 'rate_limited'
  | 'unavailable'
  | 'unreachable'
  | 'provider_failed'

/** Reads it off an attempt's record; null for one that worked, was cancelled, or failed for the request's own sake. */
export function byokFailure(outcome: string, httpStatus: number | null): ByokFailure | null {
  switch (outcome) {
    case 'ok':
    case 'cancelled':
    case 'bad-request':
    case 'content-policy':
    case 'context-length':
    case 'prefill-refused':
    case 'rescue-mismatch':
      return null
    case 'refused':
      // Without a status no provider was asked: the key was deleted or switched off meanwhile.
      return httpStatus === null ? 'not_in_use' : (REFUSALS[httpStatus] ?? 'forbidden')
    case 'rate-limited':
      return 'rate_limited'
    case 'key-unavailable':
      return 'unavailable'
    case 'connect':
    case 'reset':
      return httpStatus === null ? 'unreachable' : 'provider_failed'
    default:
      return 'provider_failed'
  }
}

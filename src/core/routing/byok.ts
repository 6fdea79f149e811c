import type { Provider } from '../catalog/catalog.ts'

/** A BYOK key for planning, without its secret. */
export interface ByokKey {
  id: string
  providerId: string
  /** Whether its owner permits calls to use shared capacity when it fails. */
  allowFallback: boolean
}

/** Whether clients may add keys for a provider. A provider without keys cannot bill them. */
export const takesByokKeys = ({ apiKeyEnv }: Pick<Provider, 'apiKeyEnv'>): boolean => apiKeyEnv !== null

/** The sealing purpose of BYOK keys. */
export const BYOK_KEY_PURPOSE = 'provider-key'

/** The context of a sealed BYOK key, which does not open in another account's or key's row. */
export const byokKeyContext = (accountId: string, keyId: string): string => `${accountId}/${keyId}`

/**
 * The state of a key: `unreachable` while its provider cannot be reached with it, `failing` after three consecutive
 * refusals, `refused` if its provider's last verdict was a refusal, `unchecked` until its provider has accepted it.
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

/** Why an attempt with a BYOK key failed, for its owner. */
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

/** The failure in an attempt's record; null if it succeeded, was cancelled, or failed because of the request. */
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
      // Without a status no request was sent: the key was deleted or disabled meanwhile.
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

import type { ProviderKey } from '../accounts/provider-key-store.ts'
import { providerKeyStatus } from '../core/routing/own-key-state.ts'

/** A client's own provider key as its owner sees it; of the secret only its last characters. */
export function providerKeyView(key: ProviderKey) {
  return {
    id: key.id,
    object: 'provider_key' as const,
    provider: key.providerId,
    name: key.name,
    last4: key.last4,
    allow_fallback: key.allowFallback,
    status: providerKeyStatus(key),
    accepted_at: key.acceptedAt?.toISOString() ?? null,
    failing_since: key.failingSince?.toISOString() ?? null,
    last_error: key.lastError,
    last_error_at: key.lastErrorAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
  }
}

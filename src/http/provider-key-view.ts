import type { ProviderKey } from '../accounts/provider-key-store.ts'

/** A client's own provider key as its owner sees it; of the secret only its last characters. */
export function providerKeyView(key: ProviderKey) {
  return {
    id: key.id,
    object: 'provider_key',
    provider: key.providerId,
    name: key.name,
    last4: key.last4,
    allow_fallback: key.allowFallback,
    status: key.disabled ? 'disabled' : key.failingSince ? 'failing' : 'active',
    failing_since: key.failingSince?.toISOString() ?? null,
    last_error: key.lastError,
    last_error_at: key.lastErrorAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
  }
}

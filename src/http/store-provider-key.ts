import {
  type NewProviderKey,
  PROVIDER_KEYS_PER_ACCOUNT_MAX,
  type ProviderKey,
  type ProviderKeyStore,
} from '../accounts/provider-key-store.ts'
import type { ProviderKeyChecker } from '../catalog/check-provider-key.ts'
import type { Provider } from '../core/catalog/catalog.ts'
import { ApiError } from '../core/kernel/errors.ts'

/**
 * Stores a client's own key and tries it once. Whatever comes of that, the key is stored: an outage of its provider is
 * no reason against it. Throws ApiError when the account has its fill.
 */
export async function storeProviderKey(
  accountId: string,
  key: NewProviderKey,
  provider: Provider,
  { providerKeys, keyChecker }: { providerKeys: ProviderKeyStore; keyChecker: ProviderKeyChecker },
): Promise<ProviderKey> {
  const created = await providerKeys.create(accountId, key)
  if (created === null) {
    throw new ApiError(
      'invalid_request',
      `An account has ${PROVIDER_KEYS_PER_ACCOUNT_MAX} provider keys at most. Delete one first.`,
    )
  }
  const { id } = created
  if (!(await keyChecker.check({ id, accountId, secret: key.secret }, provider))) return created
  return (await providerKeys.find(accountId, id)) ?? created
}

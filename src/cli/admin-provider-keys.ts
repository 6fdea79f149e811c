import { createAccountStore } from '../accounts/account-store.ts'
import { createProviderKeyStore, type ProviderKey } from '../accounts/provider-key-store.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import type { Config } from '../config.ts'
import { providerKeyStatus } from '../core/routing/own-key-state.ts'
import { announceKeyChange } from '../platform/redis/key-changes.ts'
import type { CommandClients } from './clients.ts'
import { type CommandOutput, UsageError } from './run-command.ts'
import { lines } from './views.ts'

/** `admin provider-key list|revoke`: clients' own keys at providers, never their secrets. */
export function providerKeyCommands(clients: CommandClients, config: Config) {
  const keys = createProviderKeyStore({
    postgres: clients.postgres,
    masterKeys: config.masterKeys,
    announceAccount: (accountId) => announceKeyChange(clients.redis(), { accountId }),
  })
  const accounts = createAccountStore(clients.postgres, postLedger)

  return {
    async list(account: string | undefined): Promise<CommandOutput> {
      const owner = account === undefined ? undefined : await accounts.find(account)
      if (owner === null) throw new Error(`there is no account ${account}`)
      const views = (await keys.list(owner?.id)).map(providerKeyView)
      const text = views.map((view) => lines(view)).join('\n\n')
      return { data: { provider_keys: views }, text: text || 'There are no provider keys.' }
    },

    /** Deletes the key and its secret; calls that run on it end, new ones do not begin. */
    async revoke(keyId: string | undefined): Promise<CommandOutput> {
      if (!keyId) throw new UsageError('name the provider key: its id, as in provider-key list')
      const removed = await keys.remove(keyId)
      if (!removed) throw new Error(`there is no provider key ${keyId}`)
      const view = { ...providerKeyView(removed), deleted: true }
      return { data: view, text: lines(view) }
    },
  }
}

const providerKeyView = (key: ProviderKey) => ({
  provider_key_id: key.id,
  account_id: key.accountId,
  provider: key.providerId,
  name: key.name,
  last4: key.last4,
  allow_fallback: key.allowFallback,
  status: providerKeyStatus(key),
  disabled: key.disabled,
  accepted_at: key.acceptedAt?.toISOString() ?? null,
  failing_since: key.failingSince?.toISOString() ?? null,
  last_error: key.lastError,
  last_error_at: key.lastErrorAt?.toISOString() ?? null,
  created_at: key.createdAt.toISOString(),
})

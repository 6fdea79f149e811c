import { randomBytes } from 'node:crypto'
import { createAccountStore } from '../accounts/account-store.ts'
import { createKeyHasher } from '../accounts/key-hash.ts'
import { createKeyStore, type NewKey } from '../accounts/key-store.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import type { Config } from '../config.ts'
import { announceKeyChange } from '../platform/redis/key-changes.ts'
import type { CommandClients } from './clients.ts'
import { readAmount, readCount, readExpiry, readLimitReset } from './read-options.ts'
import { type CommandOutput, UsageError } from './run-command.ts'
import { keyView, lines } from './views.ts'

export interface KeyArguments {
  key: string | undefined
  /** The account's id or email. */
  account: string | undefined
  name: string | undefined
  limit: string | undefined
  limitReset: string | undefined
  expires: string | undefined
  rpm: string | undefined
  concurrency: string | undefined
}

/** `admin key create|list|revoke` and `admin admin-key create`. */
export function keyCommands(clients: CommandClients, config: Config) {
  const keys = createKeyStore(clients.postgres, createKeyHasher(config.masterKeys), randomBytes)
  const accounts = createAccountStore(clients.postgres, postLedger)

  const findAccountId = async (idOrEmail: string): Promise<string> => {
    const account = await accounts.find(idOrEmail)
    if (!account) throw new Error(`there is no account ${idOrEmail}`)
    return account.id
  }
  const issue = async (accountId: string | null, settings: NewKey): Promise<CommandOutput> => {
    const { key, secret } = await keys.create(accountId, settings)
    const view = keyView(key)
    const text = `${secret}\n\nThis is the only time the key is shown. Keep it where only your server reads it.\n\n${lines(view)}`
    return { data: { ...view, key: secret }, text }
  }

  return {
    async create(options: KeyArguments): Promise<CommandOutput> {
      if (!options.account) throw new UsageError('--account needs the id or email of an account')
      return issue(await findAccountId(options.account), newKey(options))
    },

    async createAdmin(options: KeyArguments): Promise<CommandOutput> {
      return issue(null, newKey(options))
    },

    async list({ account }: KeyArguments): Promise<CommandOutput> {
      const found = await keys.list(account === undefined ? undefined : await findAccountId(account))
      const views = found.map(keyView)
      const text = views.map((view) => lines(view)).join('\n\n')
      return { data: { keys: views }, text: text || 'There are no keys.' }
    },

    async revoke({ key }: KeyArguments): Promise<CommandOutput> {
      if (!key) throw new UsageError('name the key: its id, as in key list')
      const revoked = await keys.revoke(key, new Date())
      if (!revoked) throw new Error(`there is no key ${key}`)
      // Without the announcement instances learn of it late, so this failing fails the command; repeating it is safe.
      await announceKeyChange(clients.redis(), { keyId: revoked.id })
      const view = keyView(revoked)
      return { data: view, text: lines(view) }
    },
  }
}

function newKey(options: KeyArguments): NewKey {
  if (options.limitReset !== undefined && options.limit === undefined) {
    throw new UsageError('--limit-reset goes with --limit')
  }
  return {
    name: options.name ?? '',
    limitPico: options.limit === undefined ? null : readAmount('--limit', options.limit),
    limitReset: readLimitReset('--limit-reset', options.limitReset),
    expiresAt: readExpiry('--expires', options.expires, Date.now()),
    requestsPerMinute: readCount('--rpm', options.rpm),
    concurrentCalls: readCount('--concurrency', options.concurrency),
  }
}

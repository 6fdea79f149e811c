import type { NewKey, StoredKey } from '../accounts/key-store.ts'
import type { StoredByokKey } from '../byok/byok-key-store.ts'
import { KEY_SCOPES, type KeyScope } from '../core/accounts/key-scope.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { byokKeyView } from '../http/account-api/byok-keys.ts'
import { keyView } from '../http/admin/account-routes.ts'
import { type AdminCommands, type AdminContext, accountIdOf } from './admin-command.ts'
import { readUsd } from './command-input.ts'
import { list, named, one, UsageError, withSecret } from './run-command.ts'

/** A key as commands print it. Scripts read the operator's limits without whose they are. */
export function printedKey(key: StoredKey) {
  const { operator_requests_per_minute, operator_concurrent_calls, ...view } = keyView(key)
  return {
    ...named('key_id', view),
    requests_per_minute: operator_requests_per_minute,
    concurrent_calls: operator_concurrent_calls,
  }
}

/** The output for a new key. */
export function issued({ key, secret }: { key: StoredKey; secret: string }) {
  const note = 'This is the only time the key is shown. Keep it where only your server reads it.'
  return withSecret('key', secret, note, printedKey(key))
}

function newKey({ input }: AdminContext): NewKey {
  const limit = input.option('limit')
  if (input.option('limit-reset') !== undefined && limit === undefined)
    throw new UsageError('--limit-reset requires --limit')
  return {
    name: input.option('name') ?? '',
    limitPico: limit === undefined ? null : readUsd('--limit', limit, 'zero-or-more'),
    limitReset: input.limitReset('limit-reset'),
    expiresAt: input.expiry('expires'),
    requestsPerMinute: input.count('rpm'),
    concurrentCalls: input.count('concurrency'),
    scopes: readScopes(input.option('scope')),
  }
}

/** `provider_keys,top_ups`, or one of them. */
function readScopes(text: string | undefined): KeyScope[] {
  const names = text?.split(',').map((name) => name.trim()) ?? []
  return names.map((name) => {
    const scope = KEY_SCOPES.find((known) => known === name)
    if (!scope) throw new UsageError(`--scope must be one of ${KEY_SCOPES.join(', ')}`)
    return scope
  })
}

export const keyCommands: AdminCommands = {
  async 'key create'(context) {
    const account = context.input.required('account', 'needs the id or email of an account')
    const { id } = await context.accountManagement.find(account)
    return issued(await context.keyManagement.create(context.operator, id, newKey(context)))
  },

  async 'key list'(context) {
    const found = await context.keys.list(await accountIdOf(context, context.input.option('account')))
    return list('keys', found.map(printedKey), 'There are no keys.')
  },

  async 'key revoke'({ keyManagement, operator, input }) {
    const keyId = input.subject('name the key: its id, as in key list')
    return one(printedKey(await keyManagement.revoke(operator, keyId)))
  },
}

/** Clients' BYOK keys, never their secrets. */
export const byokKeyCommands: AdminCommands = {
  async 'provider-key list'(context) {
    const { input, byokKeys } = context
    const found = await byokKeys.list(await accountIdOf(context, input.account))
    return list('provider_keys', found.map(byokKeyRow), 'There are no provider keys.')
  },

  /** Deletes the key and its secret; its running calls end and new ones are refused. */
  async 'provider-key revoke'({ byokKeys, auditLog, operator, input }) {
    const target = input.subject('name the provider key: its id, as in provider-key list')
    const action = { action: 'provider-key.revoke', target, details: {} }
    const removed = await auditLog.auditedAction(operator, action, async () => {
      const found = await byokKeys.remove(target)
      if (!found) throw new ApiError('not_found', `There is no provider key ${target}.`)
      return found
    })
    return one({ ...byokKeyRow(removed), deleted: true })
  },
}

function byokKeyRow(key: StoredByokKey) {
  const { object: _, ...view } = byokKeyView(key)
  return { ...named('provider_key_id', view), account_id: key.accountId, disabled: key.disabled }
}

import type { KeyEdit, KeyStore, NewKey, StoredKey } from '../accounts/key-store.ts'
import type { EditKey } from '../accounts/self-service/edit-key.ts'
import { changeBounds, UNLIMITED } from '../core/accounts/key-authority.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { formatUsd } from '../core/kernel/money.ts'
import { isoTimeOrNull } from '../core/kernel/time.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import { rateLimitDetails } from './account-management.ts'
import type { AuditedAction, Operator, RunAudited } from './audit-log.ts'

/** The fields of a key that an operator may change. Amounts in pico-USD. */
export type KeyLimits = Pick<
  KeyEdit,
  | 'name'
  | 'expiresAt'
  | 'limitPico'
  | 'limitReset'
  | 'requestsPerMinute'
  | 'concurrentCalls'
  | 'allowedModels'
  | 'allowedProviders'
  | 'scopes'
  | 'project'
>

/** Operators' changes of API keys, each recorded in the audit log. Throws ApiError. */
export type KeyManagement = ReturnType<typeof createKeyManagement>

export function createKeyManagement(options: {
  keys: KeyStore
  editKey: EditKey
  announce: (change: KeyChange) => Promise<void>
  auditedAction: RunAudited
  clock: () => number
}) {
  const { keys, announce, auditedAction, clock } = options

  const find = async (keyId: string): Promise<StoredKey> => {
    const key = await keys.find(keyId)
    if (!key) throw new ApiError('not_found', 'There is no such key.')
    return key
  }

  const edit = async (
    operator: Operator,
    key: StoredKey,
    action: AuditedAction,
    changes: KeyEdit,
  ): Promise<StoredKey> => {
    const { id, accountId } = key
    if (accountId === null || key.state === 'revoked')
      throw new ApiError('invalid_request', 'Only a key of an account that is in use can be changed.')
    return auditedAction(operator, action, async () => {
      await options.editKey({ ...key, accountId }, changes, 'operator')
      return find(id)
    })
  }

  return {
    find,

    /** Issues a key of an account. The secret is returned only once. */
    create: (operator: Operator, accountId: string, settings: NewKey) =>
      auditedAction(operator, creation(accountId, settings), () =>
        keys.create(accountId, { ...settings, bounds: boundsOf(settings) }),
      ),

    /** The same for a key of another gateway, which keeps the secret of a SHA-256. */
    adopt: (operator: Operator, accountId: string, settings: NewKey, sha256: Uint8Array<ArrayBuffer>) =>
      auditedAction(operator, creation(accountId, settings), () =>
        keys.adopt(accountId, { ...settings, bounds: boundsOf(settings) }, sha256),
      ),

    async revoke(operator: Operator, keyId: string): Promise<StoredKey> {
      const { id } = await find(keyId)
      return auditedAction(operator, { action: 'key.revoke', target: id, details: {} }, async () => {
        const revoked = await keys.revoke(id, new Date(clock()))
        // Without the announcement instances learn of it late, so its failure fails the action, which can be repeated.
        await announce({ keyId: id })
        return revoked ?? find(id)
      })
    },

    /** Every instance refuses calls with a paused key within a second, until it is resumed. */
    pause: (operator: Operator, key: StoredKey): Promise<StoredKey> =>
      edit(
        operator,
        key,
        { action: 'key.pause', target: key.id, details: {} },
        {
          pausedAt: key.pausedAt ?? new Date(clock()),
        },
      ),

    resume: (operator: Operator, key: StoredKey): Promise<StoredKey> =>
      edit(operator, key, { action: 'key.resume', target: key.id, details: {} }, { pausedAt: null }),

    /**
     * Sets the name, the expiry and limits; absent fields are unchanged, null removes a limit. Resolves once every
     * instance applies them.
     */
    setLimits: (operator: Operator, key: StoredKey, limits: KeyLimits): Promise<StoredKey> =>
      edit(operator, key, { action: 'key.limits', target: key.id, details: limitDetails(limits) }, limits),
  }
}

const creation = (accountId: string, settings: NewKey): AuditedAction => {
  const details = Object.entries(limitDetails(settings)).filter(([, value]) => value !== '')
  return {
    ...{ action: 'key.create', target: accountId },
    details: { name: settings.name, ...Object.fromEntries(details) },
  }
}

function boundsOf(settings: NewKey): NonNullable<NewKey['bounds']> {
  const change = changeBounds({}, UNLIMITED, settings, 'operator')
  return change.kind === 'permitted' ? change.bounds : {}
}

const limitDetails = ({ name, expiresAt, limitPico, limitReset, ...rest }: KeyLimits) => ({
  ...(name !== undefined && { name }),
  ...(expiresAt !== undefined && { expires_at: isoTimeOrNull(expiresAt) }),
  ...(limitPico !== undefined && { limit_usd: limitPico === null ? null : formatUsd(limitPico) }),
  ...(limitReset !== undefined && { limit_reset: limitReset }),
  ...rateLimitDetails(rest),
  ...(rest.allowedModels && { models: rest.allowedModels.join(', ') }),
  ...(rest.allowedProviders && { providers: rest.allowedProviders.join(', ') }),
  ...(rest.scopes && { scopes: rest.scopes.join(', ') }),
  ...(rest.project !== undefined && { project: rest.project }),
})

import type { KeyStore, NewKey, StoredKey } from '../accounts/key-store.ts'
import type { OperatorChange, OperatorStore, StoredOperator } from '../accounts/operators/operator-store.ts'
import type { OperatorRole } from '../core/accounts/operator-permissions.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import { isoTimeOrNull } from '../core/kernel/time.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import type { AuditedAction, Operator, RunAudited } from './audit-log.ts'

export interface NewOperator {
  name: string
  /** Null: signs in only with admin keys. */
  email: string | null
  role: OperatorRole
}

const UNLIMITED = {
  limitPico: null,
  limitReset: 'none',
  requestsPerMinute: null,
  concurrentCalls: null,
} as const

export type OperatorManagement = ReturnType<typeof createOperatorManagement>

/** Changes of operators and their admin keys, each recorded in the audit log. Throws ApiError. */
export function createOperatorManagement(options: {
  operators: OperatorStore
  keys: Pick<KeyStore, 'find' | 'createOfOperator' | 'listOfOperators' | 'revoke'>
  announce: (change: KeyChange) => Promise<void>
  auditedAction: RunAudited
  clock: () => number
}) {
  const { operators, keys, announce, auditedAction, clock } = options

  /** A change of an operator that every instance must learn of, because instances cache the operators of keys. */
  const change = (
    operator: Operator,
    action: AuditedAction,
    work: (operatorId: string) => Promise<OperatorChange>,
  ): Promise<StoredOperator> =>
    auditedAction(operator, action, async () => {
      const changed = changedOperator(await work(action.target))
      const own = await keys.listOfOperators(changed.id)
      // Without the announcements instances learn of it late, so their failure fails the action, which can be repeated.
      for (const { id, state } of own) if (state === 'active') await announce({ keyId: id })
      return changed
    })

  const find = async (operatorId: string): Promise<StoredOperator> => {
    const found = await operators.find(operatorId)
    if (!found) throw unknownOperator()
    return found
  }

  return {
    list: operators.list,

    find,

    /** Finds an operator by id, email or name. */
    async findNamed(name: string): Promise<StoredOperator> {
      const found = await operators.findNamed(name)
      if (!found) throw unknownOperator()
      return found
    },

    add(operator: Operator, { name, email, role }: NewOperator): Promise<StoredOperator> {
      const id = newId('op')
      const action = { action: 'operator.add', target: id, details: { name, email, role } }
      return auditedAction(operator, action, async () => {
        const added = await operators.create({ id, name, email, role })
        if (!added) throw emailTaken()
        return added
      })
    },

    /** Throws ApiError `conflict` for the last admin. */
    async setRole(operator: Operator, operatorId: string, role: OperatorRole): Promise<StoredOperator> {
      const { name, role: before } = await find(operatorId)
      const details = { name, role: `${before} → ${role}` }
      const action = { action: 'operator.role', target: operatorId, details }
      return change(operator, action, (id) => operators.setRole(id, role))
    },

    /** Ends the operator's sessions and disables the operator's keys. Throws ApiError `conflict` for the last admin. */
    async disable(operator: Operator, operatorId: string): Promise<StoredOperator> {
      const { name } = await find(operatorId)
      const action = { action: 'operator.disable', target: operatorId, details: { name } }
      return change(operator, action, operators.disable)
    },

    async enable(operator: Operator, operatorId: string): Promise<StoredOperator> {
      const { name } = await find(operatorId)
      const action = { action: 'operator.enable', target: operatorId, details: { name } }
      return change(operator, action, operators.enable)
    },

    /** Admin keys, newest first; of one operator, or all. */
    listKeys: keys.listOfOperators,

    /** Issues an admin key. The secret is returned only once. */
    async createKey(
      operator: Operator,
      operatorId: string,
      { name, expiresAt }: Pick<NewKey, 'name' | 'expiresAt'>,
    ): Promise<{ key: StoredKey; secret: string }> {
      const owner = await find(operatorId)
      if (owner.state === 'disabled')
        throw new ApiError('conflict', 'This operator is disabled. Enable the operator first.')
      const details = { operator: owner.name, name, expires_at: isoTimeOrNull(expiresAt) }
      const action = { action: 'admin-key.create', target: operatorId, details }
      return auditedAction(operator, action, () =>
        keys.createOfOperator(operatorId, { ...UNLIMITED, name, expiresAt }),
      )
    },

    async revokeKey(operator: Operator, keyId: string): Promise<StoredKey> {
      const key = await keys.find(keyId)
      if (key?.operator == null) throw new ApiError('not_found', 'There is no such admin key.')
      const details = { operator: key.operator.name, name: key.name }
      return auditedAction(operator, { action: 'admin-key.revoke', target: keyId, details }, async () => {
        const revoked = await keys.revoke(keyId, new Date(clock()))
        await announce({ keyId })
        return revoked ?? key
      })
    },
  }
}

function changedOperator(change: OperatorChange): StoredOperator {
  switch (change.kind) {
    case 'changed':
      return change.operator
    case 'unknown':
      throw unknownOperator()
    case 'last_admin':
      throw new ApiError(
        'conflict',
        'This is the last admin. Assign the role admin to another operator first.',
      )
    case 'email_taken':
      throw emailTaken()
    default:
      return change satisfies never
  }
}

const unknownOperator = (): ApiError => new ApiError('not_found', 'There is no such operator.')

const emailTaken = (): ApiError =>
  new ApiError('email_taken', 'Another operator has this email. Disable that operator first.')

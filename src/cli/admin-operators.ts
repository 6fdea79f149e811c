import type { StoredOperator } from '../accounts/operators/operator-store.ts'
import { OPERATOR_ROLES, type OperatorRole } from '../core/accounts/operator-permissions.ts'
import { operatorView } from '../http/admin/operator-routes.ts'
import type { AdminCommands, AdminContext } from './admin-command.ts'
import { issued, printedKey } from './admin-keys.ts'
import { list, named, one, UsageError } from './run-command.ts'

const view = (operator: StoredOperator) => named('operator_id', operatorView(operator))

function readRole({ input }: AdminContext): OperatorRole {
  const text = input.required('role', `must be one of ${OPERATOR_ROLES.join(', ')}`)
  const role = OPERATOR_ROLES.find((known) => known === text)
  if (!role) throw new UsageError(`--role must be one of ${OPERATOR_ROLES.join(', ')}`)
  return role
}

const subject = ({ input, operatorManagement }: AdminContext): Promise<StoredOperator> =>
  operatorManagement.findNamed(input.subject('name the operator by id, email or name'))

/** The owner of a new admin key: the named operator, or an admin with the key's name, who is created if missing. */
async function keyOwner(context: AdminContext, keyName: string): Promise<StoredOperator> {
  const { input, operator, operators, operatorManagement } = context
  const given = input.option('operator')
  if (given !== undefined) return operatorManagement.findNamed(given)
  const name = keyName || 'Admin'
  const found = await operators.findNamed(name)
  return found?.state === 'active'
    ? found
    : operatorManagement.add(operator, { name, email: null, role: 'admin' })
}

export const operatorCommands: AdminCommands = {
  async 'operator list'({ operatorManagement }) {
    return list('operators', (await operatorManagement.list()).map(view), 'There are no operators.')
  },

  async 'operator add'(context) {
    const { input, operator, operatorManagement } = context
    const name = input.required('name', 'must be the name of the operator in the audit log')
    const email = input.option('email') ?? null
    return one(view(await operatorManagement.add(operator, { name, email, role: readRole(context) })))
  },

  async 'operator role'(context) {
    const { id } = await subject(context)
    return one(view(await context.operatorManagement.setRole(context.operator, id, readRole(context))))
  },

  async 'operator disable'(context) {
    const { id } = await subject(context)
    return one(view(await context.operatorManagement.disable(context.operator, id)))
  },

  async 'operator enable'(context) {
    const { id } = await subject(context)
    return one(view(await context.operatorManagement.enable(context.operator, id)))
  },

  async 'admin-key create'(context) {
    const { input, operator, operatorManagement } = context
    const name = input.option('name') ?? ''
    const owner = await keyOwner(context, name)
    const expiresAt = input.expiry('expires')
    const { data, text } = issued(await operatorManagement.createKey(operator, owner.id, { name, expiresAt }))
    const { id: operator_id, name: operator_name, role } = owner
    return { data: { ...(data as object), operator_id, operator_name, role }, text }
  },

  async 'admin-key list'({ input, operatorManagement }) {
    const given = input.option('operator')
    const owner = given === undefined ? undefined : (await operatorManagement.findNamed(given)).id
    const keys = await operatorManagement.listKeys(owner)
    const views = keys.map((key) => ({ ...printedKey(key), operator_id: key.operatorId }))
    return list('admin_keys', views, 'There are no admin keys.')
  },
}

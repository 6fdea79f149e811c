import type { OperatorRole } from '../../../../src/core/accounts/operator-permissions.ts'
import type {
  AdminKeyView,
  CreatedAdminKey,
  NewAdminKeyBody,
  NewOperatorBody,
  OperatorDetail,
  OperatorRoleBody,
} from '../../../../src/core/api/operators.ts'
import { path, requestJson } from '../../../api/request.ts'
import { ConfirmDialog, FormDialog } from '../../../components/feedback/dialogs.tsx'
import { SelectField, TextField } from '../../../components/form/fields.tsx'
import { emailProblem, wholeNumberProblem } from '../../../lib/checks.ts'
import { ROLE_WORDS } from '../../../lib/operators/operator-roles.ts'

const STALE = ['/admin/api/operators', '/admin/api/actions']

const ROLE_OPTIONS = Object.entries(ROLE_WORDS).map(([value, { name, about }]) => ({
  value,
  name: `${name}: ${about}`,
}))

/** Adds an operator, who signs in by single sign-on, or once they have an admin key. */
export function AddOperatorDialog({ onClose }: { onClose: () => void }) {
  return (
    <FormDialog
      title="Add operator"
      submit="Add operator"
      pending="Adding …"
      initial={{ name: '', email: '', role: 'viewer' }}
      check={({ name, email }) => ({
        name: name.trim() === '' ? 'Enter the name that the audit log shows.' : null,
        email: email.trim() === '' ? null : emailProblem(email),
      })}
      send={({ name, email, role }) =>
        requestJson('POST', '/admin/api/operators', {
          name: name.trim(),
          email: email.trim() || null,
          role: role as OperatorRole,
        } satisfies NewOperatorBody)
      }
      stale={STALE}
      done="Operator added."
      onClose={onClose}
    >
      {(field) => (
        <>
          <TextField label="Name" {...field('name')} required />
          <TextField
            label="Email address (optional)"
            type="email"
            {...field('email')}
            hint="For single sign-on: the address that your provider has verified."
          />
          <SelectField label="Role" {...field('role')} options={ROLE_OPTIONS} />
        </>
      )}
    </FormDialog>
  )
}

interface OperatorDialogProps {
  operator: OperatorDetail
  onClose: () => void
}

export function RoleDialog({ operator, onClose }: OperatorDialogProps) {
  return (
    <FormDialog
      title={`Role of ${operator.name}`}
      submit="Change role"
      pending="Saving …"
      initial={{ role: operator.role as string }}
      send={({ role }) =>
        requestJson('POST', path`/admin/api/operators/${operator.id}/role`, {
          role: role as OperatorRole,
        } satisfies OperatorRoleBody)
      }
      // It may be one's own role.
      stale={['/admin/api']}
      done={`Role of ${operator.name} changed.`}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>The role applies to the operator's sessions and admin keys, from the next request on.</p>
          <SelectField label="Role" {...field('role')} options={ROLE_OPTIONS} />
        </>
      )}
    </FormDialog>
  )
}

export function OperatorStateDialog(props: OperatorDialogProps & { verb: 'disable' | 'enable' }) {
  const { operator, verb, onClose } = props
  const isEnd = verb === 'disable'
  return (
    <ConfirmDialog
      title={isEnd ? `Disable ${operator.name}?` : `Enable ${operator.name}?`}
      confirm={isEnd ? 'Disable operator' : 'Enable operator'}
      send={() => requestJson('POST', path`/admin/api/operators/${operator.id}/${verb}`)}
      stale={STALE}
      done={`${operator.name} ${verb}d.`}
      onClose={onClose}
    >
      <p>
        {isEnd
          ? 'Their sessions end now, and their admin keys are rejected, also those that programs use.'
          : 'They can sign in again, and their admin keys that are not revoked work again.'}
      </p>
    </ConfirmDialog>
  )
}

/** Asks for the name of a new admin key, and how long it is valid. */
export function NewAdminKeyDialog(
  props: OperatorDialogProps & { onCreated: (key: CreatedAdminKey) => void },
) {
  const { operator, onClose, onCreated } = props
  return (
    <FormDialog
      title={`Create an admin key for ${operator.name}`}
      submit="Create key"
      pending="Creating …"
      initial={{ name: '', days: '' }}
      check={({ days }) => ({ days: wholeNumberProblem(days) })}
      send={({ name, days }) =>
        requestJson<CreatedAdminKey>('POST', path`/admin/api/operators/${operator.id}/keys`, {
          name: name.trim(),
          expires_in_days: days.trim() === '' ? null : Number(days),
        } satisfies NewAdminKeyBody)
      }
      stale={STALE}
      onDone={onCreated}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>The key does everything that the role {ROLE_WORDS[operator.role].name} includes.</p>
          <TextField label="Name" {...field('name')} placeholder="laptop" hint="To recognize it by." />
          <TextField
            label="Valid for (days)"
            inputMode="numeric"
            {...field('days')}
            hint="Leave empty for a key that does not expire."
          />
        </>
      )}
    </FormDialog>
  )
}

export function RevokeAdminKeyDialog(props: OperatorDialogProps & { adminKey: AdminKeyView }) {
  const { operator, adminKey, onClose } = props
  return (
    <ConfirmDialog
      title={`Revoke “${adminKey.name || adminKey.hint}”?`}
      confirm="Revoke key"
      send={() => requestJson('POST', path`/admin/api/admin-keys/${adminKey.id}/revoke`)}
      stale={STALE}
      done="Admin key revoked."
      onClose={onClose}
    >
      <p>
        Sessions of {operator.name} that began with <code>{adminKey.hint}</code> end, and programs that use it
        are rejected. This can't be undone.
      </p>
    </ConfirmDialog>
  )
}

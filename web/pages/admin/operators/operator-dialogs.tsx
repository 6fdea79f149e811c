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
import { ConfirmDialog, FormDialog, SecretDialog } from '../../../components/feedback/dialogs.tsx'
import { optional } from '../../../components/form/field-specs.ts'
import { emailProblem, wholeNumberProblem } from '../../../lib/checks.ts'
import { ROLE_WORDS } from '../../../lib/operators/operator-roles.ts'

const STALE = ['/admin/api/operators', '/admin/api/actions']

const ROLE_OPTIONS = Object.entries(ROLE_WORDS).map(([value, { name, about }]) => ({
  value,
  name: `${name}: ${about}`,
}))

/** Adds an operator, who signs in by single sign-on, or once they have an admin key. */
export const AddOperatorDialog = ({ onClose }: { onClose: () => void }) => (
  <FormDialog
    title="Add operator"
    submit="Add operator"
    pending="Adding …"
    fields={{
      name: { label: 'Name', required: 'Enter the name that the audit log shows.' },
      email: {
        label: 'Email address (optional)',
        type: 'email',
        hint: 'For single sign-on: the address that your provider has verified.',
        check: optional(emailProblem),
      },
      role: { label: 'Role', initial: 'viewer', options: ROLE_OPTIONS },
    }}
    send={({ name, email, role }) =>
      requestJson('POST', '/admin/api/operators', {
        ...{ name, email: email || null, role: role as OperatorRole },
      } satisfies NewOperatorBody)
    }
    stale={STALE}
    done="Operator added."
    onClose={onClose}
  />
)

interface OperatorDialogProps {
  operator: OperatorDetail
  onClose: () => void
}

export const RoleDialog = ({ operator, onClose }: OperatorDialogProps) => (
  <FormDialog
    title={`Role of ${operator.name}`}
    submit="Change role"
    fields={{ role: { label: 'Role', initial: operator.role, options: ROLE_OPTIONS } }}
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
    <p>The role applies to the operator's sessions and admin keys, from the next request on.</p>
  </FormDialog>
)

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

/** Asks for the name of a new admin key, and how long it is valid, and shows the key once. */
export const NewAdminKeyDialog = ({ operator, onClose }: OperatorDialogProps) => (
  <FormDialog
    title={`Create an admin key for ${operator.name}`}
    submit="Create key"
    pending="Creating …"
    fields={{
      name: { label: 'Name', placeholder: 'laptop', hint: 'To recognize it by.' },
      days: {
        label: 'Valid for (days)',
        inputMode: 'numeric',
        hint: 'Leave empty for a key that does not expire.',
        check: (days) => wholeNumberProblem(days),
      },
    }}
    send={({ name, days }) =>
      requestJson<CreatedAdminKey>('POST', path`/admin/api/operators/${operator.id}/keys`, {
        name,
        expires_in_days: days === '' ? null : Number(days),
      } satisfies NewAdminKeyBody)
    }
    stale={STALE}
    then={({ secret }, close) => (
      <SecretDialog
        title="Admin key created"
        secret={secret}
        of="the admin key"
        copy="Copy key"
        warning="Copy the key now. It isn't shown again."
        onClose={close}
      >
        <p>
          It signs in at <code>/admin/sign-in</code>, and authenticates programs as a bearer token.
        </p>
      </SecretDialog>
    )}
    onClose={onClose}
  >
    <p>The key does everything that the role {ROLE_WORDS[operator.role].name} includes.</p>
  </FormDialog>
)

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

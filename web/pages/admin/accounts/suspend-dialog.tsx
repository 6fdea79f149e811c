import type { OperatorAccountDetail, SuspendRequest } from '../../../../src/core/api/accounts.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { FormDialog, useForm } from '../../../components/form/form.tsx'
import { TextField } from '../../../components/form/text-field.tsx'

const TEXTS = {
  suspend: {
    title: 'Suspend this account?',
    what: 'From the next second on all its calls and keys are refused, and its console sessions end. Running calls complete and are charged. Its balance stays.',
    confirm: 'Suspend the account',
    done: 'is suspended.',
  },
  resume: {
    title: 'Resume this account?',
    what: 'Its keys work again from the next second on, and its holder can sign in.',
    confirm: 'Resume the account',
    done: 'can make calls again.',
  },
}

/** Suspends or resumes an account, with a reason for the audit log. */
export function SuspendDialog(props: {
  account: OperatorAccountDetail
  verb: keyof typeof TEXTS
  onClose: () => void
}) {
  const { account, verb, onClose } = props
  const { title, what, confirm, done } = TEXTS[verb]
  const form = useForm({
    initial: { reason: '' },
    check: ({ reason }) => ({
      reason: reason.trim() === '' ? 'Enter a reason; it is recorded with your key.' : null,
    }),
    send: ({ reason }) => {
      const body: SuspendRequest = { reason: reason.trim() }
      return requestJson('POST', `${OPERATOR_API}/accounts/${encodeURIComponent(account.id)}/${verb}`, {
        body,
      })
    },
    stale: [['operator']],
    done: `${account.email} ${done}`,
    onDone: onClose,
  })
  return (
    <FormDialog
      title={title}
      form={form}
      submit={confirm}
      pending="Working …"
      kind={verb === 'suspend' ? 'danger' : 'primary'}
      onClose={onClose}
    >
      <p>
        <strong>{account.email}</strong>: {what}
      </p>
      <TextField label="Reason" {...form.field('reason')} required />
    </FormDialog>
  )
}

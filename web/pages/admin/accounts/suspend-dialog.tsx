import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { OperatorAccountDetail, SuspendRequest } from '../../../../src/core/api/accounts.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { DialogBox } from '../../../components/dialog-box.tsx'
import { Form } from '../../../components/form.tsx'
import { fieldError } from '../../../components/form-error.tsx'
import { TextField } from '../../../components/text-field.tsx'
import { showToast } from '../../../components/toasts.tsx'

type Verb = 'suspend' | 'resume'

const TEXTS: Record<Verb, { title: string; what: string; confirm: string; done: string }> = {
  suspend: {
    title: 'Suspend this account?',
    what: 'From the next second on all its calls are refused, its keys with them, and its sessions in the console end. Calls that run go on to their end and are charged. Its balance stays.',
    confirm: 'Suspend the account',
    done: 'is suspended.',
  },
  resume: {
    title: 'Resume this account?',
    what: 'Its keys work again from the next second on, and its holder may sign in.',
    confirm: 'Resume the account',
    done: 'may make calls again.',
  },
}

interface SuspendDialogProps {
  account: OperatorAccountDetail
  /** Null: closed. */
  verb: Verb | null
  onClose: () => void
}

/** Suspends or resumes an account, with the reason that is written down. */
export function SuspendDialog({ account, verb, onClose }: SuspendDialogProps) {
  return (
    <DialogBox title={verb ? TEXTS[verb].title : ''} isOpen={verb !== null} onClose={onClose}>
      {verb && <SuspendForm account={account} verb={verb} onClose={onClose} />}
    </DialogBox>
  )
}

function SuspendForm({ account, verb, onClose }: SuspendDialogProps & { verb: Verb }) {
  const { what, confirm, done } = TEXTS[verb]
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const run = useMutation({
    mutationFn: (body: SuspendRequest) =>
      requestJson<OperatorAccountDetail>(
        'POST',
        `${OPERATOR_API}/accounts/${encodeURIComponent(account.id)}/${verb}`,
        { body },
      ),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ['operator'] })
      showToast(`${account.email} ${done}`)
      onClose()
    },
  })
  const submit = () => {
    const isEmpty = reason.trim() === ''
    setProblem(isEmpty ? 'Say why; it is written down with your key.' : null)
    if (!isEmpty) run.mutate({ reason: reason.trim() })
  }
  return (
    <Form error={run.error} fields={['reason']} onSubmit={submit}>
      <p>
        <strong>{account.email}</strong>: {what}
      </p>
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        error={problem ?? fieldError(run.error, 'reason')}
        required
      />
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="submit"
          className={verb === 'suspend' ? 'button button-danger' : 'button button-primary'}
          disabled={run.isPending}
        >
          {run.isPending ? 'Working …' : confirm}
        </button>
      </div>
    </Form>
  )
}

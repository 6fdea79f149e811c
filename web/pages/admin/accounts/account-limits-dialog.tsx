import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AccountLimitsRequest, OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { DialogBox } from '../../../components/dialog-box.tsx'
import { Form } from '../../../components/form.tsx'
import { fieldError } from '../../../components/form-error.tsx'
import { TextField } from '../../../components/text-field.tsx'
import { showToast } from '../../../components/toasts.tsx'
import { wholeNumberProblem } from '../../../lib/key-form.ts'

const FIELDS = ['requests_per_minute', 'concurrent_calls']

interface AccountLimitsDialogProps {
  account: OperatorAccountDetail
  isOpen: boolean
  onClose: () => void
}

/** Sets what all keys of an account together may send. */
export function AccountLimitsDialog({ account, isOpen, onClose }: AccountLimitsDialogProps) {
  return (
    <DialogBox title="Limits of this account" isOpen={isOpen} onClose={onClose}>
      {isOpen && <AccountLimitsForm account={account} onClose={onClose} />}
    </DialogBox>
  )
}

function AccountLimitsForm({ account, onClose }: Omit<AccountLimitsDialogProps, 'isOpen'>) {
  const client = useQueryClient()
  const [requests, setRequests] = useState(String(account.requests_per_minute ?? ''))
  const [concurrent, setConcurrent] = useState(String(account.concurrent_calls ?? ''))
  const [isChecked, setIsChecked] = useState(false)
  const save = useMutation({
    mutationFn: (body: AccountLimitsRequest) =>
      requestJson('POST', `${OPERATOR_API}/accounts/${encodeURIComponent(account.id)}/limits`, { body }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ['operator', 'account'] })
      showToast(`The limits of ${account.email} were set.`)
      onClose()
    },
  })
  const problems: Record<string, string | null> = {
    requests_per_minute: wholeNumberProblem(requests),
    concurrent_calls: wholeNumberProblem(concurrent),
  }
  const error = (field: string) => (isChecked && problems[field]) || fieldError(save.error, field)
  const submit = () => {
    setIsChecked(true)
    if (Object.values(problems).some((problem) => problem !== null)) return
    save.mutate({
      requests_per_minute: requests === '' ? null : Number(requests),
      concurrent_calls: concurrent === '' ? null : Number(concurrent),
    })
  }
  return (
    <Form error={save.error} fields={FIELDS} onSubmit={submit}>
      <p>
        They hold for all keys of the account together, from the next second on. Each key has limits of its
        own.
      </p>
      <div className="grid-2-tight">
        <TextField
          label="Requests a minute"
          value={requests}
          onChange={setRequests}
          inputMode="numeric"
          placeholder="the default"
          error={error('requests_per_minute')}
        />
        <TextField
          label="Calls at once"
          value={concurrent}
          onChange={setConcurrent}
          inputMode="numeric"
          placeholder="the default"
          error={error('concurrent_calls')}
        />
      </div>
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button button-primary" disabled={save.isPending}>
          {save.isPending ? 'Saving …' : 'Save the limits'}
        </button>
      </div>
    </Form>
  )
}

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { KeyLimitsRequest, OperatorKey } from '../../../../src/core/api/keys.ts'
import { OPERATOR_API } from '../../../api/operator-queries.ts'
import { requestJson } from '../../../api/request.ts'
import { DialogBox } from '../../../components/dialog-box.tsx'
import { Form } from '../../../components/form.tsx'
import { fieldError } from '../../../components/form-error.tsx'
import { SelectField } from '../../../components/select-field.tsx'
import { TextField } from '../../../components/text-field.tsx'
import { showToast } from '../../../components/toasts.tsx'
import { isWholeCents } from '../../../lib/amounts.ts'
import { wholeNumberProblem } from '../../../lib/key-form.ts'

const RESETS = [
  { value: 'none', name: 'In all' },
  { value: 'daily', name: 'Each day' },
  { value: 'weekly', name: 'Each week' },
  { value: 'monthly', name: 'Each month' },
]
const FIELDS = ['limit_usd', 'requests_per_minute', 'concurrent_calls']

interface KeyLimitsDialogProps {
  keyView: OperatorKey | null
  onClose: () => void
}

/** Gives a key other limits. */
export function KeyLimitsDialog({ keyView, onClose }: KeyLimitsDialogProps) {
  return (
    <DialogBox title={`Limits of “${keyView?.name ?? ''}”`} isOpen={keyView !== null} onClose={onClose}>
      {keyView && <KeyLimitsForm keyView={keyView} onClose={onClose} />}
    </DialogBox>
  )
}

function KeyLimitsForm({ keyView, onClose }: { keyView: OperatorKey; onClose: () => void }) {
  const client = useQueryClient()
  const [limit, setLimit] = useState(keyView.limit_usd ?? '')
  const [reset, setReset] = useState(keyView.limit_reset)
  const [requests, setRequests] = useState(String(keyView.requests_per_minute ?? ''))
  const [concurrent, setConcurrent] = useState(String(keyView.concurrent_calls ?? ''))
  const [isChecked, setIsChecked] = useState(false)
  const save = useMutation({
    mutationFn: (body: KeyLimitsRequest) =>
      requestJson<OperatorKey>('POST', `${OPERATOR_API}/keys/${encodeURIComponent(keyView.id)}/limits`, {
        body,
      }),
    onSuccess: ({ name }) => {
      void client.invalidateQueries({ queryKey: ['operator', 'account'] })
      showToast(`The limits of “${name}” hold now.`)
      onClose()
    },
  })
  const problems: Record<string, string | null> = {
    limit_usd:
      limit === '' || limit === keyView.limit_usd || isWholeCents(limit)
        ? null
        : 'Enter an amount such as 5.00, or nothing for no limit.',
    requests_per_minute: wholeNumberProblem(requests),
    concurrent_calls: wholeNumberProblem(concurrent),
  }
  const error = (field: string) => (isChecked && problems[field]) || fieldError(save.error, field)
  const submit = () => {
    setIsChecked(true)
    if (Object.values(problems).some((problem) => problem !== null)) return
    save.mutate({
      limit_usd: limit === '' ? null : limit,
      limit_reset: reset,
      requests_per_minute: requests === '' ? null : Number(requests),
      concurrent_calls: concurrent === '' ? null : Number(concurrent),
    })
  }
  return (
    <Form error={save.error} fields={FIELDS} onSubmit={submit}>
      <p>They hold for calls from the next second on, at every instance.</p>
      <div className="grid-2-tight">
        <TextField
          label="Spending limit, USD"
          value={limit}
          onChange={setLimit}
          inputMode="decimal"
          placeholder="none"
          error={error('limit_usd')}
        />
        <SelectField
          label="The limit counts"
          value={reset}
          onChange={(value) => setReset(value as OperatorKey['limit_reset'])}
          options={RESETS}
          disabled={limit === ''}
        />
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

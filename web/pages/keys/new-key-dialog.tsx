import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { CreatedKey, KeyList, LimitResetName, NewKeyBody } from '../../../src/core/api/keys.ts'
import { requestJson } from '../../api/request.ts'
import { DialogBox } from '../../components/dialog-box.tsx'
import { Form } from '../../components/form.tsx'
import { fieldError } from '../../components/form-error.tsx'
import { SelectField } from '../../components/select-field.tsx'
import { TextField } from '../../components/text-field.tsx'
import { isWholeCents } from '../../lib/amounts.ts'
import { endOfDay, wholeNumberProblem } from '../../lib/key-form.ts'

const RESETS = [
  { value: 'none', name: 'In all' },
  { value: 'daily', name: 'Each day' },
  { value: 'weekly', name: 'Each week' },
  { value: 'monthly', name: 'Each month' },
]

const FIELDS = ['name', 'limit_usd', 'expires_at', 'requests_per_minute', 'concurrent_calls']

interface NewKeyDialogProps {
  isOpen: boolean
  defaults: KeyList['defaults'] | undefined
  onClose: () => void
  onCreated: (key: CreatedKey) => void
}

/** Asks for the name and the limits of a new key. */
export function NewKeyDialog(props: NewKeyDialogProps) {
  return (
    <DialogBox title="New API key" isOpen={props.isOpen} onClose={props.onClose}>
      <NewKeyForm {...props} />
    </DialogBox>
  )
}

function NewKeyForm({ defaults, onClose, onCreated }: NewKeyDialogProps) {
  const [name, setName] = useState('')
  const [limit, setLimit] = useState('')
  const [reset, setReset] = useState<LimitResetName>('none')
  const [expires, setExpires] = useState('')
  const [requests, setRequests] = useState('')
  const [concurrent, setConcurrent] = useState('')
  const [isChecked, setIsChecked] = useState(false)
  const client = useQueryClient()
  const create = useMutation({
    mutationFn: (body: NewKeyBody) => requestJson<CreatedKey>('POST', '/console/api/keys', { body }),
    // The secret goes to the page that asked and into no cache.
    gcTime: 0,
    onSuccess: (created) => {
      void client.invalidateQueries({ queryKey: ['keys'] })
      onCreated(created)
    },
  })
  const problems: Record<string, string | null> = {
    name: name.trim() === '' ? 'Give the key a name, such as the service that uses it.' : null,
    limit_usd:
      limit === '' || isWholeCents(limit) ? null : 'Enter an amount such as 5.00, or nothing for no limit.',
    requests_per_minute: wholeNumberProblem(requests, defaults?.requests_per_minute),
    concurrent_calls: wholeNumberProblem(concurrent, defaults?.concurrent_calls),
  }
  const error = (field: string) => (isChecked && problems[field]) || fieldError(create.error, field)
  const submit = () => {
    setIsChecked(true)
    if (Object.values(problems).some((problem) => problem !== null)) return
    create.mutate({
      name: name.trim(),
      ...(limit !== '' && { limit_usd: limit, limit_reset: reset }),
      ...(expires !== '' && { expires_at: endOfDay(expires) }),
      ...(requests !== '' && { requests_per_minute: Number(requests) }),
      ...(concurrent !== '' && { concurrent_calls: Number(concurrent) }),
    })
  }
  return (
    <Form error={create.error} fields={FIELDS} onSubmit={submit}>
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        placeholder="checkout-service, production"
        error={error('name')}
        required
      />
      <div className="grid-2-tight">
        <TextField
          label="Spending limit, USD"
          value={limit}
          onChange={setLimit}
          inputMode="decimal"
          placeholder="none"
          hint="Calls beyond it are refused."
          error={error('limit_usd')}
        />
        <SelectField
          label="The limit counts"
          value={reset}
          onChange={(value) => setReset(value as LimitResetName)}
          options={RESETS}
          disabled={limit === ''}
        />
      </div>
      <details className="disclosure">
        <summary>Expiry and rate limits</summary>
        <div className="stack">
          <TextField
            label="Expires after"
            type="date"
            value={expires}
            onChange={setExpires}
            hint="The last day it works; empty: never."
            error={error('expires_at')}
          />
          <p className="small muted">Lower limits for this key; empty: as many as the account's keys may.</p>
          <div className="grid-2-tight">
            <TextField
              label="Requests a minute"
              value={requests}
              onChange={setRequests}
              inputMode="numeric"
              placeholder={String(defaults?.requests_per_minute ?? '')}
              error={error('requests_per_minute')}
            />
            <TextField
              label="Calls at once"
              value={concurrent}
              onChange={setConcurrent}
              inputMode="numeric"
              placeholder={String(defaults?.concurrent_calls ?? '')}
              error={error('concurrent_calls')}
            />
          </div>
        </div>
      </details>
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button button-primary" disabled={create.isPending}>
          {create.isPending ? 'Creating …' : 'Create key'}
        </button>
      </div>
    </Form>
  )
}

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { CreatedWebhook, NewWebhookBody } from '../../../src/core/api/webhooks.ts'
import { requestJson } from '../../api/request.ts'
import { CheckField } from '../../components/check-field.tsx'
import { DialogBox } from '../../components/dialog-box.tsx'
import { Form } from '../../components/form.tsx'
import { fieldError } from '../../components/form-error.tsx'
import { TextField } from '../../components/text-field.tsx'

interface NewWebhookProps {
  isOpen: boolean
  eventTypes: string[]
  onClose: () => void
  onCreated: (created: CreatedWebhook) => void
}

/** Asks for an endpoint's address and what it wants to hear. */
export function NewWebhookDialog(props: NewWebhookProps) {
  return (
    <DialogBox title="Add an endpoint" isOpen={props.isOpen} onClose={props.onClose}>
      <NewWebhookForm {...props} />
    </DialogBox>
  )
}

function NewWebhookForm({ eventTypes, onClose, onCreated }: NewWebhookProps) {
  const [url, setUrl] = useState('')
  const [chosen, setChosen] = useState<string[]>([])
  const [isChecked, setIsChecked] = useState(false)
  const client = useQueryClient()
  const create = useMutation({
    mutationFn: (body: NewWebhookBody) =>
      requestJson<CreatedWebhook>('POST', '/console/api/webhooks', { body }),
    gcTime: 0,
    onSuccess: (created) => {
      void client.invalidateQueries({ queryKey: ['webhooks'] })
      onCreated(created)
    },
  })
  const problem = URL.canParse(url.trim())
    ? null
    : 'Enter a whole address, such as https://example.com/hooks.'
  const submit = () => {
    setIsChecked(true)
    if (problem === null) create.mutate({ url: url.trim(), event_types: chosen })
  }
  return (
    <Form error={create.error} fields={['url']} onSubmit={submit}>
      <TextField
        label="Address"
        type="url"
        inputMode="url"
        value={url}
        onChange={setUrl}
        placeholder="https://example.com/hooks"
        error={(isChecked && problem) || fieldError(create.error, 'url')}
        required
      />
      <fieldset className="field">
        <legend className="field-label">Events</legend>
        <p className="field-hint">None chosen: all of them, also ones that come later.</p>
        {eventTypes.map((type) => (
          <CheckField
            key={type}
            label={<code>{type}</code>}
            checked={chosen.includes(type)}
            onChange={(checked) =>
              setChosen(checked ? [...chosen, type] : chosen.filter((other) => other !== type))
            }
          />
        ))}
      </fieldset>
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button button-primary" disabled={create.isPending}>
          {create.isPending ? 'Adding …' : 'Add the endpoint'}
        </button>
      </div>
    </Form>
  )
}

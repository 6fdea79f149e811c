import { useState } from 'react'
import type { CreatedWebhook, NewWebhookBody } from '../../../src/core/api/webhooks.ts'
import { requestJson } from '../../api/request.ts'
import { CheckField } from '../../components/form/choice-fields.tsx'
import { FormDialog, useForm } from '../../components/form/form.tsx'
import { TextField } from '../../components/form/text-field.tsx'

/** Asks for the address of an endpoint and the events to send to it. */
export function NewWebhookDialog(props: {
  eventTypes: string[]
  onClose: () => void
  onCreated: (created: CreatedWebhook) => void
}) {
  const { eventTypes, onClose, onCreated } = props
  const [chosen, setChosen] = useState<string[]>([])
  const form = useForm({
    initial: { url: '' },
    check: ({ url }) => ({
      url: URL.canParse(url.trim()) ? null : 'Enter a whole address, such as https://example.com/hooks.',
    }),
    send: ({ url }) => {
      const body: NewWebhookBody = { url: url.trim(), event_types: chosen }
      return requestJson<CreatedWebhook>('POST', '/console/api/webhooks', { body })
    },
    stale: [['webhooks']],
    onDone: onCreated,
  })
  return (
    <FormDialog
      title="Add an endpoint"
      form={form}
      submit="Add the endpoint"
      pending="Adding …"
      onClose={onClose}
    >
      <TextField
        label="Address"
        type="url"
        inputMode="url"
        {...form.field('url')}
        placeholder="https://example.com/hooks"
        required
      />
      <fieldset className="field">
        <legend className="field-label">Events</legend>
        <p className="small muted">None chosen: all events, including types added later.</p>
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
    </FormDialog>
  )
}

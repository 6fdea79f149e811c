import type { CreatedKey, KeyList, LimitResetName, NewKeyBody } from '../../../src/core/api/keys.ts'
import { requestJson } from '../../api/request.ts'
import { FormDialog, useForm } from '../../components/form/form.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { endOfDay, spendingLimitProblem, wholeNumberProblem } from '../../lib/checks.ts'
import { RateLimitFields, SpendingLimitFields } from './limit-fields.tsx'

/** Asks for the name and the limits of a new key. */
export function NewKeyDialog(props: {
  defaults: KeyList['defaults'] | undefined
  onClose: () => void
  onCreated: (key: CreatedKey) => void
}) {
  const { defaults, onClose, onCreated } = props
  const form = useForm({
    initial: {
      name: '',
      limit_usd: '',
      limit_reset: 'none',
      expires_at: '',
      requests_per_minute: '',
      concurrent_calls: '',
    },
    check: (values) => ({
      name: values.name.trim() === '' ? 'Give the key a name, such as the service that uses it.' : null,
      limit_usd: spendingLimitProblem(values.limit_usd),
      requests_per_minute: wholeNumberProblem(values.requests_per_minute, defaults?.requests_per_minute),
      concurrent_calls: wholeNumberProblem(values.concurrent_calls, defaults?.concurrent_calls),
    }),
    send: ({ name, limit_usd, limit_reset, expires_at, requests_per_minute, concurrent_calls }) => {
      const body: NewKeyBody = {
        name: name.trim(),
        ...(limit_usd !== '' && { limit_usd, limit_reset: limit_reset as LimitResetName }),
        ...(expires_at !== '' && { expires_at: endOfDay(expires_at) }),
        ...(requests_per_minute !== '' && { requests_per_minute: Number(requests_per_minute) }),
        ...(concurrent_calls !== '' && { concurrent_calls: Number(concurrent_calls) }),
      }
      return requestJson<CreatedKey>('POST', '/console/api/keys', { body })
    },
    stale: [['keys']],
    onDone: onCreated,
  })
  return (
    <FormDialog title="New API key" form={form} submit="Create key" pending="Creating …" onClose={onClose}>
      <TextField label="Name" {...form.field('name')} placeholder="checkout-service, production" required />
      <SpendingLimitFields field={form.field} hint="Calls beyond it are refused." />
      <details className="disclosure">
        <summary>Expiry and rate limits</summary>
        <div className="stack">
          <TextField
            label="Expires after"
            type="date"
            {...form.field('expires_at')}
            hint="The last day on which the key works. Empty: never."
          />
          <p className="small muted">Lower limits for this key. Empty: the limits of the account's keys.</p>
          <RateLimitFields field={form.field} defaults={defaults} />
        </div>
      </details>
    </FormDialog>
  )
}

import type { CreatedKey, KeyList, LimitResetName, NewKeyBody } from '../../../src/core/api/keys.ts'
import { path, requestJson } from '../../api/request.ts'
import { ConfirmDialog, FormDialog } from '../../components/feedback/dialogs.tsx'
import { SelectField, TextField } from '../../components/form/fields.tsx'
import type { FieldOf } from '../../components/form/form.tsx'
import { endOfDay, spendingLimitProblem, wholeNumberProblem } from '../../lib/checks.ts'

/** Asks for the name and the limits of a new key. */
export function NewKeyDialog(props: {
  defaults: KeyList['defaults'] | undefined
  onClose: () => void
  onCreated: (key: CreatedKey) => void
}) {
  const { defaults, onClose, onCreated } = props
  return (
    <FormDialog
      title="Create API key"
      submit="Create key"
      pending="Creating …"
      initial={{
        name: '',
        limit_usd: '',
        limit_reset: 'none',
        expires_at: '',
        requests_per_minute: '',
        concurrent_calls: '',
      }}
      check={(values) => ({
        name: values.name.trim() === '' ? 'Enter a name, for example the service that uses the key.' : null,
        limit_usd: spendingLimitProblem(values.limit_usd),
        requests_per_minute: wholeNumberProblem(values.requests_per_minute, defaults?.requests_per_minute),
        concurrent_calls: wholeNumberProblem(values.concurrent_calls, defaults?.concurrent_calls),
      })}
      send={({ name, limit_usd, limit_reset, expires_at, requests_per_minute, concurrent_calls }) =>
        requestJson<CreatedKey>('POST', '/console/api/keys', {
          name: name.trim(),
          ...(limit_usd !== '' && { limit_usd, limit_reset: limit_reset as LimitResetName }),
          ...(expires_at !== '' && { expires_at: endOfDay(expires_at) }),
          ...(requests_per_minute !== '' && { requests_per_minute: Number(requests_per_minute) }),
          ...(concurrent_calls !== '' && { concurrent_calls: Number(concurrent_calls) }),
        } satisfies NewKeyBody)
      }
      stale={['/console/api/keys']}
      onDone={onCreated}
      onClose={onClose}
    >
      {(field) => (
        <>
          <TextField label="Name" {...field('name')} placeholder="checkout-service, production" required />
          <SpendingLimitFields field={field} hint="Requests beyond the limit are rejected." />
          <details className="disclosure">
            <summary>Expiry and rate limits</summary>
            <div className="stack">
              <TextField
                label="Expiry date"
                type="date"
                {...field('expires_at')}
                hint="The key works through this day. Leave empty for no expiry."
              />
              <p className="text-sm text-muted">Rate limits of this key. Leave empty for the defaults.</p>
              <RateLimitFields field={field} defaults={defaults} />
            </div>
          </details>
        </>
      )}
    </FormDialog>
  )
}

/** Revokes a key after asking: one of the account's own, or a customer's under the operators' API. */
export function RevokeKeyDialog(props: {
  apiKey: { id: string; name: string; hint: string }
  isCustomers?: boolean
  onClose: () => void
}) {
  const { apiKey, isCustomers = false, onClose } = props
  const { id, name, hint } = apiKey
  const api = isCustomers ? '/admin/api' : '/console/api'
  return (
    <ConfirmDialog
      title={`Revoke “${name}”?`}
      confirm="Revoke key"
      send={() => requestJson('POST', api + path`/keys/${id}/revoke`)}
      stale={[isCustomers ? '/admin/api/accounts/' : '/console/api/keys']}
      done={`API key “${name}” revoked.`}
      onClose={onClose}
    >
      <p>
        {isCustomers && 'This is a customer’s key. '}
        Requests with <code>{hint}</code> will fail immediately. This can't be undone.
        {!isCustomers && ' Replace the key in your services first.'}
      </p>
    </ConfirmDialog>
  )
}

const RESETS = [
  { value: 'none', name: 'Never' },
  { value: 'daily', name: 'Daily' },
  { value: 'weekly', name: 'Weekly' },
  { value: 'monthly', name: 'Monthly' },
] satisfies Array<{ value: LimitResetName; name: string }>

/** What a key may spend, and in which period. */
export function SpendingLimitFields({
  field,
  hint,
}: {
  field: FieldOf<Record<'limit_usd' | 'limit_reset', string>>
  hint?: string
}) {
  const limit = field('limit_usd')
  return (
    <div className="columns gap-4 [--column:12rem]">
      <TextField label="Spending limit (USD)" {...limit} inputMode="decimal" placeholder="none" hint={hint} />
      <SelectField label="Resets" {...field('limit_reset')} options={RESETS} disabled={limit.value === ''} />
    </div>
  )
}

/** How many calls a key or an account may make. The placeholders show the defaults. */
export function RateLimitFields(props: {
  field: FieldOf<Record<'requests_per_minute' | 'concurrent_calls', string>>
  defaults?: { requests_per_minute: number; concurrent_calls: number } | undefined
}) {
  const { field, defaults } = props
  return (
    <div className="columns gap-4 [--column:12rem]">
      <TextField
        label="Requests per minute"
        {...field('requests_per_minute')}
        inputMode="numeric"
        placeholder={String(defaults?.requests_per_minute ?? 'default')}
      />
      <TextField
        label="Max concurrent requests"
        {...field('concurrent_calls')}
        inputMode="numeric"
        placeholder={String(defaults?.concurrent_calls ?? 'default')}
      />
    </div>
  )
}

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
      title="New API key"
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
        name: values.name.trim() === '' ? 'Give the key a name, such as the service that uses it.' : null,
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
          <SpendingLimitFields field={field} hint="Calls beyond it are refused." />
          <details className="disclosure">
            <summary>Expiry and rate limits</summary>
            <div className="stack">
              <TextField
                label="Expires after"
                type="date"
                {...field('expires_at')}
                hint="The last day on which the key works. Empty: never."
              />
              <p className="text-sm text-muted">
                Lower limits for this key. Empty: the limits of the account's keys.
              </p>
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
      confirm="Revoke the key"
      send={() => requestJson('POST', api + path`/keys/${id}/revoke`)}
      stale={[isCustomers ? '/admin/api/accounts/' : '/console/api/keys']}
      done={`The key “${name}” is revoked.`}
      onClose={onClose}
    >
      <p>
        {isCustomers && 'This is a customer’s key. '}
        Calls with <code>{hint}</code> are refused from the next second on, permanently.
        {!isCustomers && ' Put a new key in place first.'}
      </p>
    </ConfirmDialog>
  )
}

const RESETS = [
  { value: 'none', name: 'In all' },
  { value: 'daily', name: 'Each day' },
  { value: 'weekly', name: 'Each week' },
  { value: 'monthly', name: 'Each month' },
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
      <TextField label="Spending limit, USD" {...limit} inputMode="decimal" placeholder="none" hint={hint} />
      <SelectField
        label="The limit counts"
        {...field('limit_reset')}
        options={RESETS}
        disabled={limit.value === ''}
      />
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
        label="Requests a minute"
        {...field('requests_per_minute')}
        inputMode="numeric"
        placeholder={String(defaults?.requests_per_minute ?? 'the default')}
      />
      <TextField
        label="Calls at once"
        {...field('concurrent_calls')}
        inputMode="numeric"
        placeholder={String(defaults?.concurrent_calls ?? 'the default')}
      />
    </div>
  )
}

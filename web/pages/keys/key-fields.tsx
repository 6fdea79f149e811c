import { useQuery } from '@tanstack/react-query'
import type { KeyScope } from '../../../src/core/accounts/key-scope.ts'
import type { Permission } from '../../../src/core/accounts/member-permissions.ts'
import type { KeyEditBody, KeyView, LimitResetName } from '../../../src/core/api/keys.ts'
import { keysQuery, modelsQuery, sessionQuery } from '../../api/queries.ts'
import { CheckField, SelectField, TextField } from '../../components/form/fields.tsx'
import type { FieldOf } from '../../components/form/form.tsx'
import { NamesField, namesIn, valueOfNames } from '../../components/form/names-field.tsx'
import { endOfDay, spendingLimitProblem, wholeNumberProblem } from '../../lib/checks.ts'
import { shownZone } from '../../lib/time-zone.ts'
import { dayIn } from '../../lib/usage-view.ts'

/** The fields of a key's settings, as texts. */
export type KeyValues = Record<
  | 'name'
  | 'limit_usd'
  | 'limit_reset'
  | 'expires_at'
  | 'requests_per_minute'
  | 'concurrent_calls'
  | 'allowed_models'
  | 'allowed_providers'
  | 'scopes',
  string
>

interface RateMaxima {
  requests_per_minute: number
  concurrent_calls: number
}

export const NEW_KEY: KeyValues = {
  name: '',
  limit_usd: '',
  limit_reset: 'none',
  expires_at: '',
  requests_per_minute: '',
  concurrent_calls: '',
  allowed_models: '',
  allowed_providers: '',
  scopes: '',
}

/** The settings that a key has. */
export const valuesOf = (key: KeyView): KeyValues => ({
  name: key.name,
  limit_usd: key.limit_usd ?? '',
  limit_reset: key.limit_reset,
  expires_at: key.expires_at === null ? '' : dayIn(shownZone(), new Date(key.expires_at)),
  requests_per_minute: String(key.own_requests_per_minute ?? ''),
  concurrent_calls: String(key.own_concurrent_calls ?? ''),
  allowed_models: valueOfNames(key.allowed_models),
  allowed_providers: valueOfNames(key.allowed_providers),
  scopes: valueOfNames(key.scopes),
})

/** What is wrong with the fields; what a key has already is not. */
export const keyProblems = (values: KeyValues, maxima: RateMaxima | undefined, before = NEW_KEY) => ({
  name: values.name.trim() === '' ? 'Enter a name, for example the service that uses the key.' : null,
  limit_usd: values.limit_usd === before.limit_usd ? null : spendingLimitProblem(values.limit_usd),
  requests_per_minute: wholeNumberProblem(values.requests_per_minute, maxima?.requests_per_minute),
  concurrent_calls: wholeNumberProblem(values.concurrent_calls, maxima?.concurrent_calls),
})

/** The fields that were changed, as the gateway takes them. */
export function changedSettings(values: KeyValues, before: KeyValues): KeyEditBody {
  const isNew = (name: keyof KeyValues) => values[name] !== before[name]
  const count = (text: string) => (text === '' ? null : Number(text))
  const { limit_usd: limit } = values
  return {
    ...(isNew('name') && { name: values.name.trim() }),
    ...((isNew('limit_usd') || isNew('limit_reset')) && {
      limit_usd: limit === '' ? null : limit,
      limit_reset: limit === '' ? null : (values.limit_reset as LimitResetName),
    }),
    ...(isNew('expires_at') && {
      expires_at: values.expires_at === '' ? null : endOfDay(values.expires_at, shownZone()),
    }),
    ...(isNew('requests_per_minute') && { requests_per_minute: count(values.requests_per_minute) }),
    ...(isNew('concurrent_calls') && { concurrent_calls: count(values.concurrent_calls) }),
    ...(isNew('allowed_models') && { allowed_models: namesIn(values.allowed_models) }),
    ...(isNew('allowed_providers') && { allowed_providers: namesIn(values.allowed_providers) }),
    ...(isNew('scopes') && { scopes: namesIn(values.scopes) as KeyScope[] }),
  }
}

/** All settings of a key. The placeholders show the most that the operator grants. */
export function KeyFields(props: {
  field: FieldOf<KeyValues>
  maxima: RateMaxima | undefined
  /** Whether its owner asks, who chooses among the models and providers of the account. */
  isOwner?: boolean
}) {
  const { field, maxima, isOwner = true } = props
  return (
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
          <RateLimitFields field={field} defaults={maxima} />
        </div>
      </details>
      {isOwner && (
        <details className="disclosure">
          <summary>Models and providers</summary>
          <AllowListFields field={field} />
        </details>
      )}
      {isOwner && <ScopeFields field={field} />}
    </>
  )
}

const SCOPES: Record<KeyScope, { label: string; hint: string; permission: Permission }> = {
  provider_keys: {
    label: 'Manage provider keys',
    hint: 'Whoever has the API key can replace provider keys, and so choose whose account at a provider sees your prompts.',
    permission: 'integrations',
  },
  top_ups: {
    label: 'Open and read top-ups',
    hint: 'Through /billing/topups.',
    permission: 'billing',
  },
}

/** What the key may do beside calls, for people whose role permits that. */
function ScopeFields({ field }: { field: FieldOf<KeyValues> }) {
  const permissions = useQuery(sessionQuery).data?.permissions ?? []
  const { value, onChange } = field('scopes')
  const chosen = namesIn(value)
  const offered = (Object.keys(SCOPES) as KeyScope[]).filter(
    (scope) => chosen.includes(scope) || permissions.includes(SCOPES[scope].permission),
  )
  if (offered.length === 0) return null
  return (
    <details className="disclosure">
      <summary>Permissions</summary>
      <div className="stack">
        {offered.map((scope) => (
          <CheckField
            key={scope}
            label={SCOPES[scope].label}
            hint={SCOPES[scope].hint}
            checked={chosen.includes(scope)}
            onChange={(isOn) =>
              onChange(valueOfNames(isOn ? [...chosen, scope] : chosen.filter((name) => name !== scope)))
            }
          />
        ))}
        <p className="text-sm text-muted">
          Off by default. A key never has more permissions than the role of who made it.
        </p>
      </div>
    </details>
  )
}

/** What the key may use, with suggestions from the catalog. */
function AllowListFields({ field }: { field: FieldOf<KeyValues> }) {
  const models = useQuery(modelsQuery).data?.models ?? []
  const { data: keys } = useQuery(keysQuery)
  const developers = [...new Set(models.map(({ vendor }) => vendor))].sort()
  return (
    <div className="stack">
      <NamesField
        label="Allowed models"
        {...field('allowed_models')}
        placeholder="Add a model ID or developer/*"
        hint="Press Enter to add. Leave empty for all models. “auto” chooses among the allowed ones."
        suggestions={[
          ...developers.map((vendor) => ({ value: `${vendor}/*` })),
          ...models.map(({ id }) => ({ value: id })),
        ]}
      />
      <NamesField
        label="Allowed providers"
        {...field('allowed_providers')}
        placeholder="Add a provider"
        hint="Leave empty for all providers. Requests are never sent to any other."
        suggestions={(keys?.providers ?? []).map(({ id, name }) => ({ value: id, name }))}
      />
    </div>
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

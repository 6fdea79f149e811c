import { useQuery } from '@tanstack/react-query'
import type { KeyScope } from '../../../src/core/accounts/key-scope.ts'
import type { Permission } from '../../../src/core/accounts/member-permissions.ts'
import type { KeyEditBody, KeyView, LimitResetName } from '../../../src/core/api/keys.ts'
import { keysQuery, modelsQuery, sessionQuery } from '../../api/queries.ts'
import { CheckField } from '../../components/form/fields.tsx'
import type { BoundField, FieldSpec, FormFields } from '../../components/form/form.tsx'
import { NamesField, namesIn, valueOfNames } from '../../components/form/names-field.tsx'
import { endOfDay, spendingLimitProblem, wholeNumberProblem } from '../../lib/checks.ts'
import { shownZone } from '../../lib/time-zone.ts'
import { dayIn } from '../../lib/usage-view.ts'

interface RateMaxima {
  requests_per_minute: number
  concurrent_calls: number
}

/** The fields of a key's settings, as texts. */
export const NEW_KEY = {
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

type KeyValues = Record<keyof typeof NEW_KEY, string>

/** The settings that a key has. */
export const valuesOf = (key: KeyView): KeyValues => ({
  name: key.name,
  limit_usd: key.limit_usd ?? '',
  limit_reset: key.limit_reset,
  expires_at: key.expires_at === null ? '' : dayIn(shownZone(), new Date(key.expires_at)),
  requests_per_minute: String(key.customer_requests_per_minute ?? ''),
  concurrent_calls: String(key.customer_concurrent_calls ?? ''),
  allowed_models: valueOfNames(key.allowed_models),
  allowed_providers: valueOfNames(key.allowed_providers),
  scopes: valueOfNames(key.scopes),
})

export const RESETS = [
  { value: 'none', name: 'Never' },
  { value: 'daily', name: 'Daily' },
  { value: 'weekly', name: 'Weekly' },
  { value: 'monthly', name: 'Monthly' },
] satisfies Array<{ value: LimitResetName; name: string }>

/** The settings of a key as the fields of a form. The placeholders show the most that the operator grants. */
export const keyFields = (before: KeyValues, maxima?: RateMaxima): Record<keyof KeyValues, FieldSpec> => ({
  name: {
    label: 'Name',
    initial: before.name,
    placeholder: 'checkout-service, production',
    required: 'Enter a name, for example the service that uses the key.',
  },
  limit_usd: {
    label: 'Spending limit (USD)',
    initial: before.limit_usd,
    inputMode: 'decimal',
    placeholder: 'none',
    hint: 'Requests beyond the limit are rejected.',
    // What a key has already is not wrong.
    check: (usd) => (usd === before.limit_usd ? null : spendingLimitProblem(usd)),
  },
  limit_reset: { label: 'Resets', initial: before.limit_reset, options: RESETS },
  expires_at: {
    label: 'Expiry date',
    initial: before.expires_at,
    type: 'date',
    hint: 'Valid through the end of this day. Leave empty for no expiry.',
  },
  ...rateLimitFields(before, maxima),
  allowed_models: { label: 'Allowed models', initial: before.allowed_models, exact: true },
  allowed_providers: { label: 'Allowed providers', initial: before.allowed_providers, exact: true },
  scopes: { label: 'Permissions', initial: before.scopes, exact: true },
})

type RateLimitName = keyof RateMaxima

/** How many calls a key or an account may make. The placeholders show the maxima, which are the defaults. */
export const rateLimitFields = (
  before: Record<RateLimitName, string | number | null>,
  maxima?: RateMaxima,
): Record<RateLimitName, FieldSpec> => {
  const field = (label: string, name: RateLimitName): FieldSpec => ({
    label,
    initial: String(before[name] ?? ''),
    inputMode: 'numeric',
    placeholder: String(maxima?.[name] ?? 'default'),
    check: (text) => wholeNumberProblem(text, maxima?.[name]),
  })
  return {
    requests_per_minute: field('Requests per minute', 'requests_per_minute'),
    concurrent_calls: field('Max concurrent requests', 'concurrent_calls'),
  }
}

/** Beside each other where there is room. */
export const RateLimitInputs = ({ input }: Pick<FormFields<RateLimitName>, 'input'>) => (
  <div className="columns gap-4 [--column:12rem]">
    {input('requests_per_minute')}
    {input('concurrent_calls')}
  </div>
)

/** A number that was typed; null: it was left out. */
export const numberOf = (text: string): number | null => (text === '' ? null : Number(text))

/** The fields that were changed, as the gateway takes them. */
export function changedSettings(values: KeyValues, before: KeyValues): KeyEditBody {
  const isNew = (name: keyof KeyValues) => values[name] !== before[name]
  const { limit_usd: limit } = values
  return {
    ...(isNew('name') && { name: values.name }),
    ...((isNew('limit_usd') || isNew('limit_reset')) && {
      limit_usd: limit === '' ? null : limit,
      limit_reset: limit === '' ? null : (values.limit_reset as LimitResetName),
    }),
    ...(isNew('expires_at') && {
      expires_at: values.expires_at === '' ? null : endOfDay(values.expires_at, shownZone()),
    }),
    ...(isNew('requests_per_minute') && {
      customer_requests_per_minute: numberOf(values.requests_per_minute),
    }),
    ...(isNew('concurrent_calls') && {
      customer_concurrent_calls: numberOf(values.concurrent_calls),
    }),
    ...(isNew('allowed_models') && { allowed_models: namesIn(values.allowed_models) }),
    ...(isNew('allowed_providers') && { allowed_providers: namesIn(values.allowed_providers) }),
    ...(isNew('scopes') && { scopes: namesIn(values.scopes) as KeyScope[] }),
  }
}

/** All settings of a key. */
export const KeyInputs = ({ input, field }: FormFields<keyof KeyValues>) => (
  <>
    {input('name')}
    <div className="columns gap-4 [--column:12rem]">
      {input('limit_usd')}
      {input('limit_reset', { disabled: field('limit_usd').value === '' })}
    </div>
    <details className="disclosure">
      <summary>Expiry and rate limits</summary>
      <div className="stack">
        {input('expires_at')}
        <p className="text-sm text-muted">Rate limits of this key. Leave empty for the defaults.</p>
        <RateLimitInputs input={input} />
      </div>
    </details>
    <details className="disclosure">
      <summary>Models and providers</summary>
      <AllowListFields models={field('allowed_models')} providers={field('allowed_providers')} />
    </details>
    <ScopeFields {...field('scopes')} />
  </>
)

const SCOPES: Record<KeyScope, { label: string; hint: string; permission: Permission }> = {
  provider_keys: {
    label: 'Manage provider keys',
    hint: 'The holder of the API key can replace provider keys, and so choose whose account at a provider sees your prompts.',
    permission: 'integrations',
  },
  top_ups: {
    label: 'Open and read top-ups',
    hint: 'Through /billing/topups.',
    permission: 'billing',
  },
  presets: {
    label: 'Manage presets',
    hint: 'Through /v2/presets. Every key of the account can call with presets, also without this.',
    permission: 'integrations',
  },
  responses: {
    label: 'Read responses of other keys',
    hint: 'Without this, the key reads and continues only the stored responses that it made.',
    permission: 'all_keys',
  },
  budgets: {
    label: 'Manage budgets',
    hint: 'Through /v2/budgets: the budgets of projects, tags and end users.',
    permission: 'limits',
  },
  guardrails: {
    label: 'Manage guardrails',
    hint: 'Through /v2/guardrails: services that see prompts and answers, and may replace them.',
    permission: 'integrations',
  },
}

/** What the key may do beside calls, for people whose role permits that. */
function ScopeFields({ value, onChange }: BoundField) {
  const permissions = useQuery(sessionQuery).data?.permissions ?? []
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
function AllowListFields(props: { models: BoundField; providers: BoundField }) {
  const models = useQuery(modelsQuery).data?.models ?? []
  const { data: keys } = useQuery(keysQuery)
  const developers = [...new Set(models.map(({ vendor }) => vendor))].sort()
  return (
    <div className="stack">
      <NamesField
        label="Allowed models"
        {...props.models}
        placeholder="Add a model ID or developer/*"
        hint="Press Enter to add. Leave empty for all models. “auto” chooses among the allowed ones."
        suggestions={[
          ...developers.map((vendor) => ({ value: `${vendor}/*` })),
          ...models.map(({ id }) => ({ value: id })),
        ]}
      />
      <NamesField
        label="Allowed providers"
        {...props.providers}
        placeholder="Add a provider"
        hint="Leave empty for all providers. Requests are never sent to any other."
        suggestions={(keys?.providers ?? []).map(({ id, name }) => ({ value: id, name }))}
      />
    </div>
  )
}

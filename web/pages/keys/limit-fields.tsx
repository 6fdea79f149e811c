import type { LimitResetName } from '../../../src/core/api/keys.ts'
import { SelectField } from '../../components/form/choice-fields.tsx'
import { TextField } from '../../components/form/text-field.tsx'

const RESETS = [
  { value: 'none', name: 'In all' },
  { value: 'daily', name: 'Each day' },
  { value: 'weekly', name: 'Each week' },
  { value: 'monthly', name: 'Each month' },
] satisfies Array<{ value: LimitResetName; name: string }>

type Field<Name> = (name: Name) => { value: string; onChange: (text: string) => void; error: string | null }

/** What a key may spend, and in which period. */
export function SpendingLimitFields({
  field,
  hint,
}: {
  field: Field<'limit_usd' | 'limit_reset'>
  hint?: string
}) {
  const limit = field('limit_usd')
  return (
    <div className="grid-2-tight">
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
  field: Field<'requests_per_minute' | 'concurrent_calls'>
  defaults?: { requests_per_minute: number; concurrent_calls: number } | undefined
}) {
  const { field, defaults } = props
  return (
    <div className="grid-2-tight">
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

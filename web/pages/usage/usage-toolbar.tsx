import { SelectField, TextField } from '../../components/form/fields.tsx'
import { TimeZoneField } from '../../components/form/time-zone-field.tsx'
import { capitalised } from '../../lib/format.ts'
import type { UsageChoice, UsageSearch } from '../../lib/usage-view.ts'
import { GROUP_NAMES } from './usage-breakdown.tsx'

const PERIODS = [
  { value: '1', name: 'Today' },
  { value: '7', name: 'Last 7 days' },
  { value: '30', name: 'Last 30 days' },
  { value: '90', name: 'Last 90 days' },
  { value: '365', name: 'Last 365 days' },
  { value: 'custom', name: 'Custom range' },
]

const INTERVALS = { hour: 'Hour', day: 'Day', month: 'Month' }
/** Chooses the period, the interval, the grouping and the time zone of usage. */
export function UsageToolbar(props: {
  choice: UsageChoice
  onChange: (changed: UsageSearch) => void
  /** There is nothing to group by but models. */
  ofOneKey?: boolean
  /** The account is an organisation. */
  hasMembers?: boolean
}) {
  const { choice, onChange, ofOneKey = false, hasMembers = false } = props
  return (
    <div className="toolbar">
      <SelectField
        label="Period"
        value={choice.period}
        options={PERIODS}
        onChange={(days) =>
          onChange({
            days: days === '30' ? undefined : days,
            from: days === 'custom' ? choice.first : undefined,
            to: days === 'custom' ? choice.last : undefined,
            interval: undefined,
          })
        }
      />
      {choice.period === 'custom' && (
        <>
          <TextField
            label="From"
            type="date"
            value={choice.first}
            max={choice.last}
            onChange={(from) => from !== '' && onChange({ from })}
          />
          <TextField
            label="To"
            type="date"
            value={choice.last}
            min={choice.first}
            onChange={(to) => to !== '' && onChange({ to })}
          />
        </>
      )}
      <SelectField
        label="Interval"
        value={choice.interval}
        options={choice.intervals.map((value) => ({ value, name: INTERVALS[value] }))}
        onChange={(interval) => onChange({ interval })}
      />
      {!ofOneKey && (
        <SelectField
          label="Group by"
          value={choice.group}
          options={Object.entries(GROUP_NAMES)
            .map(([value, name]) => ({ value, name: capitalised(name) }))
            .filter(({ value }) => hasMembers || value !== 'member')}
          onChange={(group) => onChange({ group: group === 'model' ? undefined : group })}
        />
      )}
      <TimeZoneField zone={choice.zone} onChange={(zone) => onChange({ zone })} />
    </div>
  )
}

import { useState } from 'react'
import { BROWSER_ZONE, chooseZone, useShownZone, zoneName } from '../../lib/time-zone.ts'
import { SelectField, TextField } from './fields.tsx'

const OTHER = 'other'

/**
 * Chooses the time zone of every time in the console: the browser's, UTC, the one that was chosen, or another that is found
 * by its name. `zone`: that of a page which names one; `onChange` gets the one that is chosen.
 */
export function TimeZoneField(props: { hint?: string; zone?: string; onChange?: (zone: string) => void }) {
  const shown = useShownZone()
  const { hint, zone = shown, onChange } = props
  const [typed, setTyped] = useState<string | null>(null)
  const choose = (chosen: string) => {
    setTyped(null)
    chooseZone(chosen === BROWSER_ZONE ? null : chosen)
    onChange?.(chosen)
  }
  const near = [...new Set([BROWSER_ZONE, 'UTC', zone])].map((value, index) => ({
    value,
    name: `${index === 0 ? 'Browser: ' : ''}${zoneName(value, new Date())}`,
  }))
  const others = Intl.supportedValuesOf('timeZone')
  return (
    <>
      <SelectField
        label="Time zone"
        value={typed === null ? zone : OTHER}
        options={[...near, { value: OTHER, name: 'Other …' }]}
        onChange={(value) => (value === OTHER ? setTyped('') : choose(value))}
        hint={hint}
      />
      {typed !== null && (
        <TextField
          label="Find"
          placeholder="Europe/Berlin"
          value={typed}
          suggestions={others.map((value) => ({ value }))}
          onChange={(text) => (others.includes(text) ? choose(text) : setTyped(text))}
          autoFocus
        />
      )}
    </>
  )
}

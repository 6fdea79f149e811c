import { BROWSER_ZONE, chooseZone, useChosenZone, zoneName } from '../../lib/time-zone.ts'
import { SelectField } from './fields.tsx'

const BROWSER = ''

/** Chooses the time zone of every time in the console: the browser's, UTC, or any other that the browser knows. */
export function TimeZoneField({ hint }: { hint?: string }) {
  const chosen = useChosenZone()
  return (
    <SelectField
      label="Time zone"
      value={chosen ?? BROWSER}
      options={[
        { value: BROWSER, name: `Browser: ${zoneName(BROWSER_ZONE, new Date())}` },
        ...zoneOptions(chosen === null ? ['UTC'] : ['UTC', chosen]),
      ]}
      onChange={(zone) => chooseZone(zone === BROWSER ? null : zone)}
      hint={hint}
    />
  )
}

/** Some zones first, then all others that the browser knows. */
export function zoneOptions(first: readonly string[]) {
  const now = new Date()
  const named = [...new Set(first)]
  const others = Intl.supportedValuesOf('timeZone').filter((zone) => !named.includes(zone))
  return [
    ...named.map((zone) => ({ value: zone, name: zoneName(zone, now) })),
    ...others.map((zone) => ({ value: zone, name: zone.replaceAll('_', ' ') })),
  ]
}

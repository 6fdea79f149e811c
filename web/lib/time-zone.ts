import { useSyncExternalStore } from 'react'
import { readStored, writeStored } from './storage.ts'

const STORED_AS = 'shuntyard-time-zone'

/** Whether a text names a time zone of the IANA database, such as `Europe/Berlin` or `UTC`. */
export function isTimeZone(name: string): boolean {
  try {
    return (
      new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '' &&
      /^[A-Z]/i.test(name)
    )
  } catch {
    return false
  }
}

/** The time zone of the browser, an IANA name. */
export const BROWSER_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The zone chosen in this browser; null: the browser's, also where storage is refused. Another tab follows when it is loaded. */
let chosenZone: string | null = readChosenZone()
const listeners = new Set<() => void>()

function readChosenZone(): string | null {
  const stored = readStored(STORED_AS)
  return stored !== null && isTimeZone(stored) ? stored : null
}

/** The time zone of every time that names no other, an IANA name. */
export const shownZone = (): string => chosenZone ?? BROWSER_ZONE

/** Shows times in another zone and keeps it for the next visit; null: the browser's. Throws RangeError on an unknown one. */
export function chooseZone(zone: string | null): void {
  if (zone !== null && !isTimeZone(zone)) throw new RangeError(`not a time zone: ${zone}`)
  chosenZone = zone
  writeStored(STORED_AS, zone)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** `shownZone` for components, which are drawn again when another is chosen. */
export const useShownZone = (): string => useSyncExternalStore(subscribe, shownZone)

/** How far a zone's clocks are ahead of UTC: `GMT+1`. */
export const zoneOffset = (zone: string, moment: Date): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeZoneName: 'shortOffset' })
    .formatToParts(moment)
    .find(({ type }) => type === 'timeZoneName')?.value ?? ''

/** A zone for people: `America/New York (GMT-5)`. */
export const zoneName = (zone: string, now: Date): string =>
  `${zone.replaceAll('_', ' ')} (${zoneOffset(zone, now)})`

/** The moment when clocks of a zone show a time (`2027-01-31T14:00`), in ISO 8601; null for another text. */
export function momentIn(zone: string, local: string): string | null {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(local)) return null
  const wall = Date.parse(`${local}:00Z`)
  if (Number.isNaN(wall)) return null
  // The offset of the first guess may be that of the other side of a change of the clocks.
  const guess = wall - offsetMs(zone, wall)
  return new Date(wall - offsetMs(zone, guess)).toISOString()
}

function offsetMs(zone: string, unixMs: number): number {
  const [, sign, hours, minutes = '0'] =
    /([+-])(\d+)(?::(\d+))?/.exec(zoneOffset(zone, new Date(unixMs))) ?? []
  return hours === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

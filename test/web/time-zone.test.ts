import { afterEach, expect, test, vi } from 'vitest'

/** The modules as a browser loads them whose storage holds this. */
async function load(stored: Map<string, string>) {
  vi.resetModules()
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
    removeItem: (name: string) => void stored.delete(name),
  })
  const zone = await import('../../web/lib/time-zone.ts')
  return { ...zone, ...(await import('../../web/lib/format.ts')) }
}
afterEach(() => vi.unstubAllGlobals())

const MOMENT = '2027-01-31T23:30:00Z'

test('dates, times and moments are in the chosen zone, also after a new load, until it is the browser’s again', async () => {
  const stored = new Map<string, string>()
  const first = await load(stored)
  expect(first.shownZone()).toBe(first.BROWSER_ZONE)
  first.chooseZone('Asia/Tokyo')
  expect(first.formatMoment(MOMENT)).toBe('1 Feb 2027, 08:30:00')
  expect(first.formatMoment(MOMENT, 'UTC')).toBe('31 Jan 2027, 23:30:00')
  const next = await load(stored)
  expect(next.formatDate(MOMENT)).toBe('1 Feb 2027')
  expect(next.formatTime(MOMENT)).toBe('08:30:00')
  expect(next.zoneName(next.shownZone(), new Date(MOMENT))).toBe('Asia/Tokyo (GMT+9)')
  next.chooseZone(null)
  expect(next.shownZone()).toBe(next.BROWSER_ZONE)
  expect(stored.size).toBe(0)
})

test('a zone that no clock knows is neither taken nor read', async () => {
  const { chooseZone, shownZone, BROWSER_ZONE } = await load(new Map([['shuntyard-time-zone', 'Mars/Base']]))
  expect(shownZone()).toBe(BROWSER_ZONE)
  expect(() => chooseZone('Mars/Base')).toThrow(RangeError)
})

test.each([
  ['UTC', '2027-01-31T14:00', '2027-01-31T14:00:00.000Z'],
  ['Europe/Berlin', '2027-01-31T14:00', '2027-01-31T13:00:00.000Z'],
  ['Asia/Kathmandu', '2027-01-31T14:00', '2027-01-31T08:15:00.000Z'],
  ['America/St_Johns', '2027-07-01T00:30', '2027-07-01T03:00:00.000Z'],
  // The night the clocks are put forward: the hour after is already in summer.
  ['Europe/Berlin', '2027-03-28T03:30', '2027-03-28T01:30:00.000Z'],
  ['Europe/Berlin', '2027-03-28T01:30', '2027-03-28T00:30:00.000Z'],
  ['UTC', '2027-13-31T14:00', null],
  ['UTC', 'now', null],
])('clocks of %s show %s at %s', async (zone, local, moment) => {
  const { momentIn } = await load(new Map())
  expect(momentIn(zone, local)).toBe(moment)
})

import { expect, test } from 'vitest'
import { boundedConversions } from '../../../../src/calls/worker/attempts/bounded-conversions.ts'
import { Interrupted } from '../../../../src/platform/process/interruptible.ts'
import { playCall } from '../../../helpers/played-chain.ts'

const forEver = () => {
  for (;;);
}

/** Conversions of one call, which take as long as they say. */
function conversions(isSuspect: boolean) {
  let now = 0
  const holds: number[] = []
  const convert = boundedConversions({
    isSuspect,
    onHold: (heldMs) => holds.push(heldMs),
    maxMs: 50,
    now: () => now,
  })
  const takes = (ms: number) => () => {
    now += ms
    return ms
  }
  return { convert, takes, holds }
}

test('a call that held the event loop is interrupted the next time', () => {
  const { convert, takes, holds } = conversions(false)
  expect(convert(takes(50))).toBe(50)
  expect(convert(takes(51))).toBe(51)
  expect(() => convert(forEver)).toThrow(Interrupted)
  expect(holds).toEqual([51])
})

test('a call whose worker was lost is interrupted at once', () => {
  const { convert } = conversions(true)
  expect(() => convert(forEver)).toThrow(Interrupted)
})

test('every attempt of a call converts its request within the same bounds', async () => {
  const { convert } = conversions(false)
  const plays = [{ end: 'connect' as const }]
  const { requests } = await playCall({ routes: [{ plays }, { plays }], convert })
  expect(new Set(requests.map((request) => request.convert))).toEqual(new Set([convert]))
})

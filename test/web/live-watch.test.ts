import { describe, expect, test } from 'vitest'
import { nextLiveStep } from '../../web/lib/live-watch.ts'

describe('the watch over live figures', () => {
  test.each([
    ['figures come', { silentMs: 900, openMs: 60_000, isClosed: false }, { isStale: false, reopen: false }],
    ['they stop', { silentMs: 4_000, openMs: 60_000, isClosed: false }, { isStale: true, reopen: false }],
    ['they hang', { silentMs: 10_000, openMs: 60_000, isClosed: false }, { isStale: true, reopen: true }],
    [
      'a new connection has just begun',
      { silentMs: 20_000, openMs: 2_000, isClosed: false },
      { isStale: true, reopen: false },
    ],
    [
      'the gateway refused a moment ago',
      { silentMs: 1_000, openMs: 1_000, isClosed: true },
      { isStale: false, reopen: false },
    ],
    [
      'the gateway refused a while ago',
      { silentMs: 3_000, openMs: 3_000, isClosed: true },
      { isStale: false, reopen: true },
    ],
  ])('knows what to do when %s', (_, stream, step) => {
    expect(nextLiveStep(stream)).toEqual(step)
  })
})

import { describe, expect, test } from 'vitest'
import type { OfferView } from '../../src/core/api/offers.ts'
import type { LiveTraffic, ProcessView } from '../../src/core/api/operations.ts'
import { newReference } from '../../web/api/request.ts'
import { changeProblem, creditProblem } from '../../web/lib/checks.ts'
import { formatShare } from '../../web/lib/format.ts'
import {
  findOffers,
  formatPerSecond,
  formatUptime,
  nextLiveStep,
  offersByHealth,
  runningCalls,
  serverErrorShare,
} from '../../web/lib/live-stats.ts'

const process = (role: ProcessView['role'], calls: number, concurrency: number | null) =>
  ({ role, in_flight_calls: calls, concurrency }) as ProcessView

describe('figures for operators', () => {
  test.each([
    [1, '100.00%'],
    [0.99999, '99.99%'],
    [0.5, '50.00%'],
    [0.0031, '0.31%'],
    [0, '0.00%'],
    [-0.054, '−5.40%'],
  ])('never show a share of %d as more than it is', (share, text) => {
    expect(formatShare(share)).toBe(text)
  })

  test.each([
    [0, '0'],
    [0.126, '0.13'],
    [12.44, '12.4'],
    [1_250.4, '1,250'],
  ])('show the rate %d in few digits', (rate, text) => {
    expect(formatPerSecond(rate)).toBe(text)
  })

  test.each([
    [-5, '0 s'],
    [42_000, '42 s'],
    [3_540_000, '59 min'],
    [7_500_000, '2 h 5 min'],
    [187_200_000, '2 d 4 h'],
  ])('show how long %d ms are', (milliseconds, text) => {
    expect(formatUptime(milliseconds)).toBe(text)
  })

  test('count a running call once: at the worker, not also at the API instance that waits for it', () => {
    const processes = [process('api', 3, 5_000), process('dispatch', 2, 256), process('dispatch', 1, 256)]
    expect(runningCalls(processes)).toEqual({ running: 3, most: 512 })
    expect(runningCalls([process('dispatch', 1, null)])).toEqual({ running: 1, most: null })
  })

  test('know no error rate without requests', () => {
    const traffic = (requests: number, errors: number) =>
      ({ requests_per_second: requests, server_errors_per_second: errors }) as LiveTraffic
    expect(serverErrorShare(traffic(0, 0))).toBeNull()
    expect(serverErrorShare(traffic(4, 1))).toBe(0.25)
  })
})

describe('offers that are looked for', () => {
  const offer = (id: string, changes: Partial<OfferView> = {}) =>
    ({
      id,
      model: `maker/${id}`,
      withheld: null,
      health: { state: 'ready' },
      last_ten_minutes: { success: 0, failure: 0, rate_limited: 0, success_share: null },
      ...changes,
    }) as OfferView
  const busy = offer('a/busy', {
    last_ten_minutes: { success: 9, failure: 0, rate_limited: 0, success_share: 1 },
  })
  const down = offer('a/down', { health: { state: 'down' } as OfferView['health'] })

  test('come with those held back first, then the busiest, and those without a key of ours last', () => {
    const ours = [offer('a/idle'), busy, down]
    const keyless = offer('a/keyless', { withheld: 'no_key' })
    expect(findOffers([keyless, ...ours], '').map(({ id }) => id)).toEqual([
      'a/down',
      'a/busy',
      'a/idle',
      'a/keyless',
    ])
  })

  test('are apart by what is to be done about them', () => {
    const keyless = offer('a/keyless', { withheld: 'no_key' })
    const { amiss, healthy, unused } = offersByHealth([keyless, busy, down])
    expect([amiss, healthy, unused]).toEqual([[down], [busy], [keyless]])
  })

  test('have every word', () => {
    expect(findOffers([offer('a/idle'), busy], 'MAKER busy').map(({ id }) => id)).toEqual(['a/busy'])
  })
})

describe('the forms of a balance', () => {
  test.each([
    ['5.00', true, true],
    ['0.000001', true, true],
    ['-1.25', false, true],
    ['0.00', false, false],
    ['-0', false, false],
    ['--1', false, false],
    ['1e3', false, false],
    ['', false, false],
  ])('take %j as credit %j and as change %j', (text, isCredit, isChange) => {
    expect(creditProblem(text) === null).toBe(isCredit)
    expect(changeProblem(text) === null).toBe(isChange)
  })

  test('name each posting differently, as the gateway takes names', () => {
    const references = new Set(Array.from({ length: 100 }, newReference))
    expect(references.size).toBe(100)
    for (const reference of references) expect(reference).toMatch(/^[\x21-\x7e]{1,100}$/)
  })
})

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

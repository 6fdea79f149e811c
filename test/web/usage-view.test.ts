import { describe, expect, test } from 'vitest'
import type { CallSessionDetail } from '../../src/core/api/call-sessions.ts'
import { USAGE_STACKS_MAX, type UsageFiguresView, type UsageSeriesView } from '../../src/core/api/usage.ts'
import { cachedShare, DRAWN_MAX, sessionTimeline } from '../../web/lib/calls/call-session.ts'
import { zoneOffset } from '../../web/lib/time-zone.ts'
import { changeText, usageNotes } from '../../web/lib/usage-changes.ts'
import {
  formatShortStart,
  formatStart,
  OTHERS,
  periodOf,
  periodWith,
  readUsageChoice,
  SERIES_MAX,
  seriesColours,
  seriesQuery,
  stackUsage,
} from '../../web/lib/usage-view.ts'

/** Still the 31st in Los Angeles, the 1st in Berlin. */
const NOW = new Date('2027-01-31T23:30:00Z')
const choice = (search: Parameters<typeof readUsageChoice>[0], zone = 'UTC') =>
  readUsageChoice(search, zone, NOW)

test('figures are compared with those of the period of equal length before', () => {
  expect(changeText(112, 100)).toBe('+12% to the period before')
  expect(changeText(50, 100)).toBe('−50% to the period before')
  expect(changeText(100, 100)).toBe('as before')
  expect([changeText(1, 0), changeText(null, 1), changeText(1, null)]).toEqual([null, null, null])
  const figures = {
    cost_usd: '3.00',
    calls: 4,
    failed_calls: 1,
    first_token_ms: 100,
    first_token_p95_ms: 900,
  } as UsageFiguresView
  expect(usageNotes(figures, { ...figures, cost_usd: '2.00', calls: 2 })).toMatchObject({
    Cost: '+50% to the period before',
    Requests: '1 failed · +100% to the period before',
    'Time to first token': 'median · p95 900 ms · as before',
  })
  expect(usageNotes(figures, undefined)).toMatchObject({ Cost: null, Requests: '1 failed' })
  expect(cachedShare({ prompt_tokens: 0, cached_tokens: 0 })).toBe('–')
  expect(cachedShare({ prompt_tokens: 8, cached_tokens: 6 })).toBe('75%')
})

describe('what the usage page shows', () => {
  test('is the last 30 days where the reader is, by day and model, until asked otherwise', () => {
    expect(choice({}, 'Europe/Berlin')).toMatchObject({
      period: '30',
      first: '2027-01-03',
      last: '2027-02-01',
      interval: 'day',
      group: 'model',
      zone: 'Europe/Berlin',
    })
    expect(seriesQuery(choice({ zone: 'America/Los_Angeles' }, 'Europe/Berlin'))).toEqual({
      from: '2027-01-02',
      to: '2027-02-01',
      interval: 'day',
      group_by: 'model',
      time_zone: 'America/Los_Angeles',
    })
  })

  test.each([
    [{ days: '1' }, ['2027-01-31', '2027-01-31', 'hour']],
    [{ days: '7' }, ['2027-01-25', '2027-01-31', 'day']],
    [{ days: '7', interval: 'hour' }, ['2027-01-25', '2027-01-31', 'hour']],
    [{ days: '90', interval: 'hour' }, ['2026-11-03', '2027-01-31', 'day']],
    [{ days: '365' }, ['2026-02-01', '2027-01-31', 'month']],
    [{ days: '365', interval: 'day' }, ['2026-02-01', '2027-01-31', 'day']],
    [{ days: 'custom', from: '2026-12-01', to: '2026-12-02' }, ['2026-12-01', '2026-12-02', 'hour']],
    [{ days: 'custom', from: '2020-01-01', to: '2026-12-31' }, ['2025-12-31', '2026-12-31', 'month']],
    [{ days: 'custom', from: '2027-05-01', to: 'then' }, ['2027-01-02', '2027-01-31', 'day']],
    [{ days: 'ever', interval: 'week', zone: 'Nowhere' }, ['2027-01-02', '2027-01-31', 'day']],
  ])('%j is from the first to the last day: %j', (search, [first, last, interval]) => {
    expect(choice(search)).toMatchObject({ first, last, interval, zone: 'UTC' })
  })
})

const figures = (cost: string, calls: number): UsageFiguresView => ({
  calls,
  prompt_tokens: calls,
  completion_tokens: calls,
  total_tokens: 2 * calls,
  cost_usd: cost,
  failed_calls: 0,
  first_token_ms: 5,
  first_token_p95_ms: 7,
  duration_ms: 9,
})

test('a chart stacks the largest groups, draws the others as one, and leaves no bucket out', () => {
  const [first, second] = ['2027-01-01T00:00:00.000Z', '2027-01-02T00:00:00.000Z']
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
  const groups = names.map((group, index) => ({ group, name: null, ...figures(`${index}.00`, 10 - index) }))
  const view: UsageSeriesView = {
    from: first,
    to: '2027-01-03T00:00:00.000Z',
    interval: 'day',
    time_zone: 'UTC',
    group_by: 'model',
    starts: [first, second],
    stacks: groups.slice(3).map(({ group, total_tokens, cost_usd }) => ({
      ...{ group, total_tokens: [total_tokens, 0], cost_usd: [cost_usd, '0.00'] },
    })),
    buckets: [{ at: first, ...figures('45.00', 55) }],
    groups: groups.toReversed(),
    groups_count: groups.length,
    total: figures('45.00', 55),
    total_before: figures('0.00', 0),
  }
  const { series, buckets } = stackUsage(view, 'cost')
  expect(series).toEqual(['j', 'i', 'h', 'g', 'f', 'e', 'd', OTHERS])
  expect(buckets[0]?.parts.map(({ value }) => value)).toEqual([9, 8, 7, 6, 5, 4, 3, 3])
  expect(buckets[0]?.figures?.cost_usd).toBe('45.00')
  expect(buckets[1]).toMatchObject({ at: second, figures: null })
  const tokens = stackUsage(view, 'tokens')
  expect(tokens.series).toEqual(series)
  expect(tokens.buckets[0]?.parts.map(({ value }) => value)).toEqual([2, 4, 6, 8, 10, 12, 14, 54])
})

test('a model has its colour by its name, whatever its rank, and no two of a chart have one', () => {
  expect(SERIES_MAX).toBe(USAGE_STACKS_MAX)
  const models = [
    'gpt-5',
    'auto',
    'anthropic/claude-sonnet-5',
    'deepseek/deepseek-v4-pro',
    'mistral-large',
    'o',
    'p',
  ]
  const colours = seriesColours([...models, OTHERS])
  expect(seriesColours([OTHERS, ...models.toReversed()])).toEqual(colours)
  expect(colours.has(OTHERS)).toBe(false)
  expect(new Set(colours.values())).toEqual(new Set(models.keys()))
  for (const model of models) expect(seriesColours([model]).get(model)).toBeLessThan(SERIES_MAX)
  const [alone] = seriesColours(['auto']).values()
  expect(seriesColours(['auto', 'gpt-5']).get('auto')).toBe(alone)
})

test('a bucket of a chart is looked at as a period of its own: a month by days, a day by hours', () => {
  const at = '2027-01-31T23:00:00Z'
  expect(periodOf(at, 'day', 'Europe/Berlin')).toMatchObject({ from: '2027-02-01', to: '2027-02-01' })
  expect(periodOf('2027-02-01T00:00:00Z', 'month', 'UTC')).toMatchObject({
    from: '2027-02-01',
    to: '2027-02-28',
  })
  expect(periodOf(at, 'hour', 'UTC')).toBeNull()
})

test('times are those of the zone', () => {
  const at = '2027-01-31T23:00:00Z'
  expect(formatStart(at, 'hour', 'Europe/Berlin')).toBe('1 Feb, 00:00')
  expect(formatStart(at, 'day', 'Europe/Berlin')).toBe('1 Feb 2027')
  expect(formatStart(at, 'month', 'UTC')).toBe('Jan 2027')
  expect(formatShortStart(at, 'hour', 'Asia/Kolkata')).toBe('04:30')
  expect(zoneOffset('Asia/Kolkata', NOW)).toBe('GMT+5:30')
})

test('a period is made longer for a day outside of it, or laid around the day', () => {
  const period = { first: '2027-01-03', last: '2027-01-31' }
  expect(periodWith(period, '2027-01-15')).toEqual({})
  expect(periodWith(period, 'some day')).toEqual({})
  expect(periodWith(period, '2026-12-01')).toEqual({ days: 'custom', from: '2026-12-01', to: '2027-01-31' })
  expect(periodWith(period, '2027-02-02')).toEqual({ days: 'custom', from: '2027-01-03', to: '2027-02-02' })
  expect(periodWith(period, '2020-06-16')).toEqual({ days: 'custom', from: '2020-06-01', to: '2020-07-01' })
})

test('the latest calls of a session are drawn from the first of them on', () => {
  const call = (index: number, status: 'completed' | 'failed') => ({
    ...{ model: 'gpt-5', status, error_code: status === 'failed' ? 'all_providers_failed' : null },
    timings: {
      admitted_at: new Date(NOW.getTime() + index * 1_000).toISOString(),
      first_token_ms: status === 'failed' ? null : 100,
      duration_ms: 400,
    },
  })
  const data = [
    ...Array.from({ length: DRAWN_MAX }, (_, index) => call(index, 'completed')),
    call(DRAWN_MAX, 'failed'),
  ]
  const { spans, totalMs } = sessionTimeline({ data } as unknown as CallSessionDetail)
  expect(spans).toHaveLength(DRAWN_MAX)
  expect(spans[0]).toMatchObject({
    startMs: 0,
    firstTokenMs: 100,
    endMs: 400,
    isFailed: false,
    outcome: null,
  })
  expect(spans.at(-1)).toMatchObject({ firstTokenMs: null, isFailed: true, outcome: 'all_providers_failed' })
  expect(totalMs).toBe((DRAWN_MAX - 1) * 1_000 + 400)
})

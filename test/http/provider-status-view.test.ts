import { expect, test } from 'vitest'
import type { CallStats } from '../../src/billing/reports/model-stats-store.ts'
import type { CatalogSnapshot } from '../../src/core/catalog/catalog.ts'
import { type ProviderFacts, providerStatusList } from '../../src/http/account-api/provider-status-view.ts'

const NOW = Date.UTC(2027, 2, 10, 12, 30)
const HOUR_MS = 3_600_000
const hourAgo = (hours: number) => Math.floor(NOW / HOUR_MS) * HOUR_MS - hours * HOUR_MS

const offer = (provider: string, model: string, shared = true) => ({
  id: `${provider}/${model}`,
  provider: { id: provider, name: provider.toUpperCase() },
  shared,
})
const catalog = {
  models: new Map([
    ['m', { offers: [offer('alpha', 'm'), offer('beta', 'm')] }],
    ['quiet', { offers: [offer('alpha', 'quiet'), offer('keyless', 'quiet', false)] }],
  ]),
} as unknown as CatalogSnapshot
const busy = (...ids: string[]): CallStats => ({
  range: { fromMs: 0, toMs: NOW },
  ...{ models: new Map(), modelDays: new Map(), offerDays: new Map() },
  offers: new Map(ids.map((id) => [id, { uptime: 1, firstTokenMs: 1, tokensPerSecond: 1 }])),
})

const facts = (changes: Partial<ProviderFacts> = {}): ProviderFacts => ({
  ...{ catalog, hours: [], latency: [], breakers: [], alarms: [], nowMs: NOW },
  stats: busy('alpha/m', 'beta/m'),
  ...changes,
})
const alpha = (changes: Partial<ProviderFacts>) =>
  providerStatusList(facts(changes)).data.find(({ id }) => id === 'alpha')!
const hour = (hours: number, succeeded: number, failed: number, providerId = 'alpha') => ({
  ...{ providerId, hourMs: hourAgo(hours), succeeded, failed },
})

test('lists providers that serve calls with our keys, by name, and no models', () => {
  const list = providerStatusList(facts())
  expect(list.data.map(({ name, state }) => [name, state])).toEqual([
    ['ALPHA', 'unknown'],
    ['BETA', 'unknown'],
  ])
  expect(JSON.stringify(list)).not.toMatch(/quiet|keyless/)
})

test('bars are of hours, quarters of days and days in UTC, the last one being the present one', () => {
  const { day, week, quarter } = alpha({
    hours: [hour(0, 99, 1), hour(1, 50, 50), hour(23, 30, 0), hour(24, 0, 90), hour(24 * 80, 500, 0)],
  })
  expect([day.bars.length, week.bars.length, quarter.bars.length]).toEqual([24, 28, 90])
  expect(day.bars.at(-1)).toBe(0.99)
  expect(day.bars.at(-2)).toBe(0.5)
  expect(day.bars[0]).toBe(1)
  expect(day.uptime).toBe(0.7782)
  expect(week.bars.at(-1)).toBe(0.99)
  expect(week.bars.at(-2)).toBe(0.5)
  expect(quarter.bars.at(-1)).toBe(0.745)
  expect(quarter.bars.at(-81)).toBe(1)
  const { periods } = providerStatusList(facts())
  expect(periods.day.from).toBe('2027-03-09T13:00:00.000Z')
  expect(periods.quarter.from).toBe('2026-12-11T00:00:00.000Z')
})

test('figures of few attempts are withheld, and only an hour without failures is 100 %', () => {
  expect(alpha({ hours: [hour(0, 9, 0)] }).day.uptime).toBeNull()
  expect(alpha({ hours: [hour(0, 99_999, 1)] }).day.uptime).toBe(0.9999)
})

test('an open circuit is shown only where calls by name tried the offer, never for single accounts', () => {
  const opened = (subject: string, stats = busy('alpha/m')) =>
    alpha({ breakers: [{ subject, state: 'open' }], stats, hours: [hour(0, 100, 0)] })
  expect(opened('alpha/m')).toMatchObject({ state: 'degraded', open_circuits: 1 })
  expect(opened('alpha/m#image')).toMatchObject({ state: 'degraded', open_circuits: 1 })
  expect(opened('alpha')).toMatchObject({ state: 'down', open_circuits: 1 })
  // Where a call to `auto` went a moment ago stays unknown.
  expect(opened('alpha/quiet')).toMatchObject({ state: 'operational', open_circuits: 0 })
  expect(opened('alpha', busy('beta/m'))).toMatchObject({ state: 'operational', open_circuits: 0 })
  expect(opened('alpha/m#account:acct_1')).toMatchObject({ state: 'operational', open_circuits: 0 })
  expect(opened('alpha/m', null as never)).toMatchObject({ open_circuits: 0 })
})

test('incidents name the provider and no model, and end after seven days', () => {
  const at = (days: number) => new Date(NOW - days * 24 * HOUR_MS)
  const alarm = (subject: string, firstAt: Date, resolvedAt: Date | null) => ({
    subject,
    firstAt,
    resolvedAt,
  })
  const { incidents } = providerStatusList(
    facts({
      alarms: [
        alarm('alpha/m', at(1), null),
        alarm('alpha', at(3), at(2)),
        alarm('alpha/quiet', at(1), null),
        alarm('beta/m', at(9), at(8)),
        alarm('gone/m', at(1), null),
      ],
    }),
  )
  expect(incidents).toEqual([
    { provider: 'ALPHA', started_at: at(1).toISOString(), ended_at: null, extent: 'partial' },
    { provider: 'ALPHA', started_at: at(3).toISOString(), ended_at: at(2).toISOString(), extent: 'full' },
  ])
})

import { expect, test } from 'vitest'
import { forecastText } from '../../web/lib/forecast.ts'

const NOW = new Date('2027-01-31T15:00:00Z')
const spend = (...days: Array<[day: string, usd: string]>) =>
  days.map(([day, cost_usd]) => ({ day, cost_usd }))

test('a balance lasts as many days as the spend of the last seven whole days says', () => {
  const days = spend(['2027-01-24', '3.00'], ['2027-01-30', '4.00'])
  expect(forecastText('23.50', days, NOW)).toBe('lasts 23 days at this pace')
  expect(forecastText('1.00', days, NOW)).toBe('lasts 1 day at this pace')
  expect(forecastText('0.50', days, NOW)).toBe('lasts less than a day at this pace')
})

test('there is no forecast of today’s or old spend, of no balance, or for more than a year', () => {
  expect(forecastText('10.00', spend(['2027-01-31', '5.00'], ['2027-01-23', '5.00']), NOW)).toBeNull()
  expect(forecastText('0.00', spend(['2027-01-30', '5.00']), NOW)).toBeNull()
  expect(forecastText('10000.00', spend(['2027-01-30', '5.00']), NOW)).toBeNull()
})

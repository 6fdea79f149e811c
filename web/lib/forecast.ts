const DAY_MS = 86_400_000
/** The pace is that of the last whole days. */
const PACE_DAYS = 7
/** Longer than this is no forecast. */
const FORECAST_DAYS_MAX = 365

/**
 * How many days a balance lasts at the pace of the last seven whole days (UTC): `lasts 23 days at this pace`. Null without
 * spend in them, without a balance, and where it lasts more than a year.
 */
export function forecastText(
  balanceUsd: string,
  days: ReadonlyArray<{ day?: string; cost_usd: string }>,
  now: Date,
): string | null {
  const today = now.toISOString().slice(0, 10)
  const first = new Date(now.getTime() - PACE_DAYS * DAY_MS).toISOString().slice(0, 10)
  const spent = days
    .filter(({ day = '' }) => day >= first && day < today)
    .reduce((sum, { cost_usd: usd }) => sum + Number(usd), 0)
  const left = Math.floor((Number(balanceUsd) * PACE_DAYS) / spent)
  if (!(spent > 0) || !(Number(balanceUsd) > 0) || left > FORECAST_DAYS_MAX) return null
  if (left === 0) return 'lasts less than a day at this pace'
  return `lasts ${left} ${left === 1 ? 'day' : 'days'} at this pace`
}

import { CALLS_MIN, type CallStats } from '../../billing/reports/model-stats-store.ts'
import type { RateEntry } from '../../catalog/rate-history-store.ts'
import type { ModelDetails } from '../../core/api/models.ts'
import type { CatalogSnapshot, Model } from '../../core/catalog/catalog.ts'
import { formatRate, picoUsdPerToken } from '../../core/kernel/money.ts'
import { DAY_MS, isoDay, isoTime } from '../../core/kernel/time.ts'
import { qualityByKind } from './published-quality.ts'

/** What the page of a model has besides the lists. `rates`: newest first; null if they cannot be read. */
export function modelDetails(
  catalog: Pick<CatalogSnapshot, 'autoLadder'>,
  model: Model,
  stats: CallStats | null,
  rates: readonly RateEntry[] | null,
): ModelDetails {
  return {
    id: model.id,
    quality: qualityByKind(catalog, model),
    measured: stats && { from: isoTime(stats.range.fromMs), to: isoTime(stats.range.toMs) },
    days: stats ? daysOf(model, stats) : [],
    prices: rates && priceChanges(rates),
  }
}

function daysOf(model: Model, stats: CallStats): ModelDetails['days'] {
  const speeds = new Map(stats.modelDays.get(model.id)?.map((entry) => [entry.day, entry]))
  const attempts = Map.groupBy(
    model.offers.flatMap(({ id }) => stats.offerDays.get(id) ?? []),
    ({ day }) => day,
  )
  const first = Math.floor(stats.range.fromMs / DAY_MS)
  const last = Math.floor(stats.range.toMs / DAY_MS)
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const day = first + index
    const ofDay = attempts.get(day) ?? []
    const tried = ofDay.reduce((sum, entry) => sum + entry.attempts, 0)
    const succeeded = ofDay.reduce((sum, entry) => sum + entry.succeeded, 0)
    return {
      day: isoDay(day),
      first_token_ms: speeds.get(day)?.firstTokenMs ?? null,
      tokens_per_second: speeds.get(day)?.tokensPerSecond ?? null,
      uptime: tried < CALLS_MIN ? null : succeeded / tried,
    }
  })
}

/** Rates that differ from the one before: the history also has changes of the list price. */
function priceChanges(rates: readonly RateEntry[]): NonNullable<ModelDetails['prices']> {
  return rates
    .filter((rate, index) => rate.rateVersion !== rates[index + 1]?.rateVersion)
    .map(({ effectiveAt, prompt, completion, units }) => ({
      since: isoTime(effectiveAt),
      prompt: formatRate(picoUsdPerToken(prompt)),
      completion: formatRate(picoUsdPerToken(completion)),
      units: units === null ? null : formatRate(picoUsdPerToken(units)),
    }))
}

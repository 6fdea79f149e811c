import { parseRate, plainDecimal } from '../kernel/money.ts'
import type { CatalogDocument, DocumentModel, DocumentOffer, DocumentPrices } from './catalog-document.ts'

/** A simulated provider that replaces real ones; `costPercent` is of the list price, below any rate. */
const STAND_INS = [
  { provider: 'alpha', costPercent: 70, exactTools: true },
  { provider: 'beta', costPercent: 73, exactTools: true },
  { provider: 'gamma', costPercent: 76, exactTools: false },
] as const

/** Simulated behaviour by the model's list price per million completion tokens in USD. */
const BEHAVIOURS = [
  { belowUsd: 2, upstreamModel: 'sim-words-60.latency-80.rate-120' },
  { belowUsd: 10, upstreamModel: 'sim-words-120.latency-150.rate-80' },
  { belowUsd: Number.POSITIVE_INFINITY, upstreamModel: 'sim-words-200.latency-250.rate-60' },
] as const

/** A document that offers every model at the simulated providers too, whose completions are made up. */
export function withStandIns(document: CatalogDocument): CatalogDocument {
  const models = (document.models ?? []).map((model) => ({
    ...model,
    offers: [...model.offers, ...standInsOf(model)],
  }))
  return { ...document, models }
}

function standInsOf({ list_price: listPrice }: DocumentModel): DocumentOffer[] {
  const { upstreamModel } = BEHAVIOURS.find(({ belowUsd }) => Number(listPrice.completion) < belowUsd)!
  return STAND_INS.map(({ provider, costPercent, exactTools }) => ({
    provider,
    upstream_model: upstreamModel,
    cost: percentOf(listPrice, costPercent),
    exact_tools: exactTools,
  }))
}

/** Truncated to six decimals, like a rate. */
function percentOf(prices: DocumentPrices, percent: number): DocumentPrices {
  const share = (price: string) => plainDecimal(`${(parseRate(price) * BigInt(percent)) / 100n}e-6`, 6)!
  const shares = Object.entries(prices).map(([kind, price]) => [kind, share(price)])
  return Object.fromEntries(shares) as DocumentPrices
}

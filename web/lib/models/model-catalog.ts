import type { ModelFacts, ModelFactsList } from '../../../src/core/api/models.ts'
import type { PricingFeed, PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'

/** A model with its prices and with what else is known of it. */
export type CatalogModel = Omit<PricingFeedEntry, 'max_output_tokens'> & ModelFacts

/** Joins prices and facts. The two are read one after the other, so a model may be in one of them only. */
export function joinCatalog(feed: Pick<PricingFeed, 'data'>, facts: Pick<ModelFactsList, 'data'>) {
  const known = new Map(facts.data.map((model) => [model.id, model]))
  const models: CatalogModel[] = feed.data.map((model) => ({
    ...model,
    ...(known.get(model.id) ?? unknownFacts(model)),
  }))
  return { models }
}

const unknownFacts = ({ id, vendor }: PricingFeedEntry): ModelFacts => ({
  id,
  maker: vendor,
  max_output_tokens: null,
  supported_parameters: [],
  reasoning: false,
  released_at: null,
  deprecated_at: null,
  popularity: null,
  quality: null,
  first_token_ms: null,
  tokens_per_second: null,
})

const SUFFIX = /:(?:nitro|floor|exacto)$/
const BARE_ALIAS = /^openai\/(?=[^/]+$)/

/** A name of a call in its one form: that of OpenAI's models is bare. */
export const bareName = (name: string): string => name.replace(BARE_ALIAS, '')

/** The id behind a name of a call: without a routing suffix, and bare for `openai/<id>`. */
export const canonicalId = (name: string): string => bareName(name.replace(SUFFIX, ''))

/** The model of an id as calls may spell it; undefined if there is none. */
export function findModel<Model extends { id: string }>(
  models: readonly Model[],
  name: string,
): Model | undefined {
  const id = canonicalId(name.trim())
  return (
    models.find((model) => model.id === name) ??
    models.find((model) => model.id === id) ??
    models.find((model) => model.id.toLowerCase() === id.toLowerCase())
  )
}

const WITHOUT_WINDOW: ReadonlySet<string> = new Set(['image', 'speech', 'transcription'])

/** Whether its context window is of interest: what makes or reads files has other limits. */
export const hasWindow = ({ kind }: Pick<CatalogModel, 'kind'>): boolean =>
  kind === undefined || !WITHOUT_WINDOW.has(kind)

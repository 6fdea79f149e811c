import type { PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'

/** The model that a name stands for: without its suffix (`:floor`) and the alias `openai/`. */
export function knownModel(models: readonly PricingFeedEntry[], name: string): PricingFeedEntry | undefined {
  const bare = name.replace(/:(nitro|floor|exacto)$/, '')
  return models.find(({ id }) => id === bare) ?? models.find(({ id }) => `openai/${id}` === bare)
}

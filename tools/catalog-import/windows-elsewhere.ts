import { canonicalId } from './canonical-id.ts'
import { readGenaiWindows } from './read-genai-prices.ts'
import type { Litellm } from './read-litellm.ts'
import { readPiAiWindows } from './read-pi-ai.ts'

/** Providers of genai-prices whose names of models tell the vendor. */
const GENAI_PROVIDERS = [
  'openai',
  'anthropic',
  'google',
  'mistral',
  'x-ai',
  'azure',
  'avian',
  'ovhcloud',
  'cohere',
  'groq',
]

/**
 * Context windows that any provider in the data gives for a model, also one that is not in our table: a model's
 * window does not depend on the provider.
 */
export function windowsElsewhere(piAiFolder: string, litellm: Litellm): (key: string) => number[] {
  const known = [...readPiAiWindows(piAiFolder), ...litellm.windows, ...readGenaiWindows(GENAI_PROVIDERS)]
  const byKey = Map.groupBy(known, ({ name }) => canonicalId(null, name)?.key)
  return (key) => (byKey.get(key) ?? []).map(({ window }) => window)
}

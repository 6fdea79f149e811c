import { type Abilities, abilitiesOf } from '../../src/core/auto/model-quality.ts'
import type { ModelQuality } from '../../src/core/auto/quality-figure.ts'
import type { Model } from '../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../src/core/kernel/money.ts'
import { publicFigures } from './public-quality.ts'

/** The models that the training data names: what the published results call them, and their list prices of 2024 in USD per million tokens. */
const NAMED: Record<string, [published: string, promptUsd: number, completionUsd: number]> = {
  'Meta-Llama-3_1-8B-Instruct': ['meta-llama/llama-3.1-8b-instruct', 0.06, 0.06],
  'Meta-Llama-3.1-8B-Instruct': ['meta-llama/llama-3.1-8b-instruct', 0.06, 0.06],
  'Meta-Llama-3_1-70B-Instruct': ['meta-llama/llama-3.1-70b-instruct', 0.4, 0.4],
  'Llama-3.1-405B-Instruct-Turbo': ['meta-llama/llama-3.1-405b-instruct', 3.5, 3.5],
  // No release has the following three; their nearest relatives stand in.
  'Mixtral-8x7B-Instruct-v0.1': ['mistralai/mixtral-8x22b-instruct-v0.1', 0.5, 0.5],
  'mistralai/Mixtral-8x7B-Instruct-v0.1': ['mistralai/mixtral-8x22b-instruct-v0.1', 0.5, 0.5],
  'gpt-4-1106-preview': ['gpt-4-turbo', 10, 30],
  'gemini-1.5-flash-002': ['gemini-1.5-flash-002', 0.075, 0.3],
  'gemini-1.5-pro-002': ['gemini-1.5-pro-002', 1.25, 5],
  'claude-3-haiku-20240307': ['anthropic/claude-3-haiku', 0.25, 1.25],
  'claude-3-5-sonnet-20241022': ['anthropic/claude-3.5-sonnet', 3, 15],
  'gpt-4o-mini-2024-07-18': ['gpt-4o-mini', 0.15, 0.6],
  'o1-mini-2024-09-12': ['o1-mini-2024-09-12', 3, 12],
}

export interface NamedModel {
  name: string
  /** By the published results alone. */
  abilities: Abilities
  /** USD per token. */
  promptUsd: number
  completionUsd: number
}

const MILLION = 1e6

/** Every named model of the data by its name there. */
export function namedModels(): Map<string, NamedModel> {
  const qualities = new Map<string, ModelQuality>()
  for (const { model, kind, standard_error: standardError, ...figure } of publicFigures()) {
    qualities.set(model, { ...qualities.get(model), [kind]: { ...figure, standardError } })
  }
  return new Map(
    Object.entries(NAMED).map(([name, [published, prompt, completion]]) => {
      const rate = (usd: number) => picoUsdPerToken(BigInt(Math.round(usd * MILLION)))
      const model = {
        id: published,
        vendor: published,
        reasoning: false,
        listPrice: { prompt: rate(prompt), completion: rate(completion) },
        quality: qualities.get(published),
      } as unknown as Model
      const abilities = abilitiesOf([model]).get(model)!
      return [name, { name, abilities, promptUsd: prompt / MILLION, completionUsd: completion / MILLION }]
    }),
  )
}

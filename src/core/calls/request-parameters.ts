import { Type } from 'typebox'
import { optional } from '../api/request-fields.ts'
import { ROUTING_PROFILES } from '../auto/routing-profiles.ts'
import { Preferences } from './provider-preferences.ts'

/** The fields of chat requests apart from their prompt, which presets have too. */

/** From none to the most. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number]
/** As requests name it. `default` is that of the model, as if there were none. */
export const GIVEN_EFFORTS = [...REASONING_EFFORTS, 'default'] as const
export type GivenEffort = (typeof GIVEN_EFFORTS)[number]

/** The largest budgets of thinking, in tokens, that count as this effort. Larger ones are a high effort. */
const LOW_BUDGET = 4_096
const MEDIUM_BUDGET = 16_384

export function effortOfBudget(budgetTokens: number): ReasoningEffort {
  if (budgetTokens <= LOW_BUDGET) return 'low'
  return budgetTokens <= MEDIUM_BUDGET ? 'medium' : 'high'
}

export const MAX_MODELS = 8
const MAX_MODEL_ID_LENGTH = 256
const STOP_CHARS_MAX = 1_000

export const modelId = Type.String({
  minLength: 1,
  maxLength: MAX_MODEL_ID_LENGTH,
  errorMessage: `\`{param}\` must be a model id of 1 to ${MAX_MODEL_ID_LENGTH} characters.`,
})
const modelsWording = `\`models\` must be an array of 1 to ${MAX_MODELS} model ids.`
export const tokenLimit = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  errorMessage: '`{param}` must be an integer of at least 1.',
})
const penalty = () => optional(Type.Number({ minimum: -2, maximum: 2 }))

/** Of every chat completion. */
export const CHAT_PARAMETERS = {
  model: optional(modelId),
  models: optional(
    Type.Array(modelId, {
      minItems: 1,
      maxItems: MAX_MODELS,
      errorMessage: { type: modelsWording, minItems: modelsWording, maxItems: modelsWording },
    }),
  ),
  routing_profile: optional(Type.Enum([...ROUTING_PROFILES])),
  provider: optional(Preferences),
  max_tokens: optional(tokenLimit),
  temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
}

/** Of chat completions of the extended contract. */
export const EXTENDED_PARAMETERS = {
  stop: Type.Optional(
    Type.Unsafe<string | string[] | null>({
      type: ['string', 'array', 'null'],
      minLength: 1,
      maxLength: STOP_CHARS_MAX,
      maxItems: 4,
      items: { type: 'string', minLength: 1, maxLength: STOP_CHARS_MAX },
      errorMessage: `\`stop\` takes up to 4 texts of 1 to ${STOP_CHARS_MAX} characters.`,
    }),
  ),
  seed: optional(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  presence_penalty: penalty(),
  frequency_penalty: penalty(),
  reasoning_effort: optional(Type.Enum([...GIVEN_EFFORTS])),
}

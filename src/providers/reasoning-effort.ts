import { REASONING_EFFORTS, type ReasoningEffort } from '../core/calls/request-parameters.ts'
import type { Conversation } from './conversation.ts'

/** Converts `reasoning_effort` for wires that have their own fields. */

/** Thinking tokens, for models that take a budget. Source: the mapping of Google's OpenAI-compatible endpoint. */
const BUDGETS: Record<Exclude<ReasoningEffort, 'none'>, number> = {
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
const LEVELS = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
} as const

/** Of the efforts that a provider takes the nearest, the lower of two; that given if it takes all. */
export function nearestEffort(
  effort: ReasoningEffort,
  taken: readonly ReasoningEffort[] | undefined,
): ReasoningEffort {
  if (!taken || taken.includes(effort)) return effort
  const rank = (each: ReasoningEffort) => REASONING_EFFORTS.indexOf(each)
  const distance = (each: ReasoningEffort) => Math.abs(rank(each) - rank(effort)) + rank(each) / 100
  // No thinking at all is near to no other effort.
  const thinking = taken.filter((each) => each !== 'none')
  return (thinking.length > 0 ? thinking : taken).reduce((one, other) =>
    distance(other) < distance(one) ? other : one,
  )
}

/** The wire's minimum budget. The completion limit must leave as many tokens for the content. */
const LEAST_BUDGET = 1_024
/** Anthropic's models before 4.6 take a budget; later ones reject it, and decide by the effort. */
const KNOWS_BUDGETS_ONLY = /claude-(3|[a-z]+-4(-[015])?(-\d{8})?$)/

/** Clouds put a version after the name (`…-v1:0`), or before the date (`@20250929`). */
export const plainName = (model: string): string => model.replace(/-v\d+(:\d+)?$/, '').replace('@', '-')

/**
 * The fields of the messages wire. No budget is sent within a loop of tools whose signed thinking is missing, because it
 * would be required too. No thinking is requested if a tool is forced, because the wire rejects both together.
 */
export function anthropicThinking(
  effort: ReasoningEffort | undefined,
  { model, completionLimit, isForced, turns }: ThinkingCircumstances,
): { thinking?: object; output_config?: object } {
  if (effort === undefined || effort === 'none') return {}
  if (!KNOWS_BUDGETS_ONLY.test(plainName(model))) {
    return {
      ...(!isForced && { thinking: { type: 'adaptive', display: 'summarized' } }),
      output_config: { effort: effort === 'max' ? 'max' : LEVELS[effort] },
    }
  }
  const budget = Math.min(BUDGETS[effort], completionLimit - LEAST_BUDGET)
  const lacksThinking =
    turns.at(-1)?.parts[0]?.type === 'tool-result' && turns.at(-2)?.parts[0]?.type !== 'signed'
  if (isForced || lacksThinking || budget < LEAST_BUDGET) return {}
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}

interface ThinkingCircumstances {
  /** The model's name at its provider. */
  model: string
  completionLimit: number
  /** Whether the request requires a tool call. */
  isForced: boolean
  turns: Conversation['turns']
}

/** Google's models before 3 take a budget; later ones take a level, and cannot turn thinking off. */
const GEMINI_2 = /^gemini-2\b/
/** The minimum of the one model that always thinks. */
const PRO_BUDGET = 128

/** `generationConfig.thinkingConfig` of the generate-content wire; undefined if the model may decide. */
export function geminiThinking(effort: ReasoningEffort | undefined, model: string): object | undefined {
  if (effort === undefined) return undefined
  if (!GEMINI_2.test(model)) {
    return effort === 'none'
      ? { thinkingLevel: 'low' }
      : { thinkingLevel: LEVELS[effort], includeThoughts: true }
  }
  if (effort === 'none') return { thinkingBudget: model.includes('-pro') ? PRO_BUDGET : 0 }
  return { thinkingBudget: BUDGETS[effort], includeThoughts: true }
}

import type { ReasoningEffort } from '../core/calls/chat-request.ts'

/** What `reasoning_effort` becomes on wires that have fields of their own for it. */

/** Tokens of thinking, for models that are told a budget. Source: the mapping of Google's own compatible endpoint. */
const BUDGETS: Record<Exclude<ReasoningEffort, 'none'>, number> = {
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
}
const LEVELS = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', xhigh: 'high' } as const

/** The wire's least budget; the completion limit has to leave as much for the answer. */
const LEAST_BUDGET = 1_024
/** Models of Anthropic before 4.6 are told a budget; later ones reject it, and decide by the effort. */
const KNOWS_BUDGETS_ONLY = /claude-(3|[a-z]+-4(-[015])?(-\d{8})?$)/

/**
 * The fields of the messages wire. A budget is not sent within a loop of tools, since the thinking of its turns would
 * have to be sent back, signed; nor is any thinking where a tool is forced, which it excludes.
 */
export function anthropicThinking(
  effort: ReasoningEffort | undefined,
  { model, completionLimit, isForced, isInLoop }: ThinkingCircumstances,
): { thinking?: object; output_config?: object } {
  if (effort === undefined || effort === 'none') return {}
  if (!KNOWS_BUDGETS_ONLY.test(model)) {
    return {
      ...(!isForced && { thinking: { type: 'adaptive', display: 'summarized' } }),
      output_config: { effort: LEVELS[effort] },
    }
  }
  const budget = Math.min(BUDGETS[effort], completionLimit - LEAST_BUDGET)
  if (isForced || isInLoop || budget < LEAST_BUDGET) return {}
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}

interface ThinkingCircumstances {
  /** The model's name at its provider. */
  model: string
  completionLimit: number
  /** The request demands a call of a tool. */
  isForced: boolean
  /** The request goes on after results of tools. */
  isInLoop: boolean
}

/** Models of Google before 3 are told a budget; later ones a level, and cannot be told not to think. */
const GEMINI_2 = /^gemini-2\b/
/** The least that the one model takes that always thinks. */
const PRO_BUDGET = 128

/** `generationConfig.thinkingConfig` of the generate-content wire; undefined: the model decides. */
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

import type { Usage } from '../../core/billing/pricing.ts'
import { taskUnits } from '../../core/calls/task.ts'
import {
  type Answer,
  type CallUsage,
  COUNTS,
  type ServedCall,
  type TokenCounts,
  type UsageFaults,
} from './call-usage.ts'

/** Tokens that a provider may add to a task's, beyond our bound. */
const TASK_FACTOR = 4
const TASK_PREAMBLE_TOKENS = 2_000

/**
 * The usage to charge for a task, which has no completion tokens: the provider's report where it can be, or else a count
 * of ours; never more than was held for.
 */
export async function taskUsage(
  { finalUsage }: Pick<Answer, 'finalUsage'>,
  { body, served }: ServedCall,
  counts: TokenCounts = COUNTS,
): Promise<{ used: CallUsage; faults: UsageFaults }> {
  const { promptTokensBound, units } = served
  const prompt = finalUsage && faultOf(finalUsage, promptTokensBound, units?.bound)
  const theirs = prompt === null ? finalUsage : null
  const promptTokens = theirs?.promptTokens || (await counts.prompt(body, undefined))
  const used = theirs?.units || (body.task ? taskUnits(body.task) : 0)
  const usage: Usage = {
    promptTokens: Math.min(promptTokens, promptTokensBound),
    completionTokens: 0,
    ...(units && { units: Math.min(used, units.bound) }),
  }
  return {
    used: { usage, usageSource: theirs ? 'upstream' : 'counted', usageClamped: prompt !== null },
    faults: { prompt, completion: false },
  }
}

/** What is wrong with a report. Nothing, where it leaves out the tokens of a model that is not priced by them. */
function faultOf(
  { promptTokens, units = 0 }: Usage,
  tokensBound: number,
  unitsBound: number | undefined,
): UsageFaults['prompt'] {
  if (!isCount(promptTokens) || !isCount(units)) return 'absurd'
  // Units of a model that is not priced by them are of no account.
  if (promptTokens <= tokensBound && (unitsBound === undefined || units <= unitsBound)) return null
  return promptTokens <= TASK_FACTOR * tokensBound + TASK_PREAMBLE_TOKENS ? 'beyond-bound' : 'absurd'
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

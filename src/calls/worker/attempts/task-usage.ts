import type { CallUsage } from '../../../core/calls/call-outcome.ts'
import { taskUnits } from '../../../core/calls/task.ts'
import type { Usage } from '../../../core/calls/usage.ts'
import type { UnitKind } from '../../../core/catalog/catalog.ts'
import { type Answer, COUNTS, type ServedCall, type TokenCounts, type UsageFaults } from './call-usage.ts'

/** Tokens that a provider may add to a task's, beyond our bound. */
const TASK_FACTOR = 4
const TASK_PREAMBLE_TOKENS = 2_000
/** Units with which nothing has a price in tokens, so that none are counted where none are reported. */
const PRICED_WHOLE: ReadonlySet<UnitKind> = new Set(['image', 'character', 'second'])

/**
 * The usage to charge for a task, which has no completion tokens: the provider's report where it can be, or else a count
 * of ours; never more than was held for.
 */
export async function taskUsage(
  { finalUsage }: Pick<Answer, 'finalUsage'>,
  { body, served: { promptTokensBound, media, units } }: ServedCall,
  counts: TokenCounts = COUNTS,
): Promise<{ used: CallUsage; faults: UsageFaults }> {
  const prompt = finalUsage && faultOf(finalUsage, promptTokensBound, units?.bound)
  const theirs = prompt === null ? finalUsage : null
  const reported = theirs?.promptTokens ? theirs : null
  const counted = () => (units && PRICED_WHOLE.has(units.kind) ? 0 : counts.prompt(body, media))
  const promptTokens = Math.min(reported?.promptTokens ?? (await counted()), promptTokensBound)
  const imageTokens = reported ? reported.imageTokens : media?.likely.image
  const usage: Usage = {
    promptTokens,
    completionTokens: 0,
    ...(imageTokens && { imageTokens: Math.min(imageTokens, media?.bound.image ?? 0, promptTokens) }),
    ...(units && { units: chargedUnits(theirs?.units || taskUnits(body.task!, units.bound), units) }),
  }
  return {
    used: { usage, usageSource: theirs ? 'upstream' : 'counted', usageClamped: prompt !== null },
    faults: { prompt, completion: false },
  }
}

const chargedUnits = (
  used: number,
  { bound, least = 0 }: NonNullable<ServedCall['served']['units']>,
): number => Math.min(Math.max(used, least), bound)

/** What is wrong with a report. Nothing, where it leaves out the tokens of a model that is not priced by them. */
function faultOf(
  { promptTokens, imageTokens = 0, units = 0 }: Usage,
  tokensBound: number,
  unitsBound: number | undefined,
): UsageFaults['prompt'] {
  if (![promptTokens, imageTokens, units].every(isCount) || imageTokens > promptTokens) return 'absurd'
  // Units of a model that is not priced by them are of no account.
  if (promptTokens <= tokensBound && (unitsBound === undefined || units <= unitsBound)) return null
  return promptTokens <= TASK_FACTOR * tokensBound + TASK_PREAMBLE_TOKENS ? 'beyond-bound' : 'absurd'
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

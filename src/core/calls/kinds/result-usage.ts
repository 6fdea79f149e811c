import type { UnitKind } from '../../catalog/catalog.ts'
import type { Candidate } from '../call-job.ts'
import type { CallUsage } from '../call-outcome.ts'
import type { Usage, UsageFaults } from '../usage.ts'
import { type CallContent, kindOf } from './call-kinds.ts'

/** How far a provider's report may exceed our bound of the tokens before it is impossible. */
const TOKENS_FACTOR = 4
const PREAMBLE_TOKENS = 2_000
/** Units of models without token prices, so that missing token counts are not replaced by ours. */
const PRICED_WHOLE: ReadonlySet<UnitKind> = new Set(['image', 'character', 'second'])

/**
 * The usage to charge for a result, which has no completion tokens: the provider's report where it is possible, or else a
 * count of ours; never more than was held for.
 * @param count counts the tokens of the prompt
 */
export async function resultUsage(
  finalUsage: Usage | null,
  content: CallContent,
  { promptTokensBound, media, units }: Pick<Candidate, 'promptTokensBound' | 'media' | 'units'>,
  count: () => Promise<number>,
): Promise<{ used: CallUsage; faults: UsageFaults }> {
  const prompt = finalUsage && faultOf(finalUsage, promptTokensBound, units?.bound)
  const theirs = prompt === null ? finalUsage : null
  const reported = theirs?.promptTokens ? theirs : null
  const counted = () => (units && PRICED_WHOLE.has(units.kind) ? 0 : count())
  const promptTokens = Math.min(reported?.promptTokens ?? (await counted()), promptTokensBound)
  const imageTokens = reported ? reported.imageTokens : media?.likely.image
  const usage: Usage = {
    promptTokens,
    completionTokens: 0,
    ...(imageTokens && { imageTokens: Math.min(imageTokens, media?.bound.image ?? 0, promptTokens) }),
    ...(units && { units: chargedUnits(theirs?.units || unreported(content, units.bound), units) }),
  }
  return {
    used: { usage, usageSource: theirs ? 'upstream' : 'counted', usageClamped: prompt !== null },
    faults: { prompt, completion: false },
  }
}

const unreported = (content: CallContent, bound: number): number =>
  kindOf(content).unreportedUnits?.(content, bound) ?? bound

const chargedUnits = (used: number, { bound, least = 0 }: NonNullable<Candidate['units']>): number =>
  Math.min(Math.max(used, least), bound)

/** The fault of a report; none if it omits the tokens of a model without token prices. */
function faultOf(
  { promptTokens, imageTokens = 0, units = 0 }: Usage,
  tokensBound: number,
  unitsBound: number | undefined,
): UsageFaults['prompt'] {
  if (![promptTokens, imageTokens, units].every(isCount) || imageTokens > promptTokens) return 'absurd'
  // Units of a model that is not priced by them are not charged.
  if (promptTokens <= tokensBound && (unitsBound === undefined || units <= unitsBound)) return null
  return promptTokens <= TOKENS_FACTOR * tokensBound + PREAMBLE_TOKENS ? 'beyond-bound' : 'absurd'
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

import type { UnitKind } from '../../catalog/catalog.ts'
import { tokensPossible } from '../../routing/learned-tokens.ts'
import type { Candidate } from '../call-job.ts'
import type { CallUsage } from '../call-outcome.ts'
import type { Usage, UsageFaults } from '../usage.ts'
import { type CallContent, kindOf } from './call-kinds.ts'

/** Units of models without token prices, so that missing token counts are not replaced by ours. */
const PRICED_WHOLE: ReadonlySet<UnitKind> = new Set(['image', 'character', 'second'])

/**
 * The usage to charge for a result, which has no completion tokens: the provider's report where it is possible, or else a
 * count of ours; never more than was held for.
 * @param held the tokens of the prompt that the hold covers
 * @param count counts the tokens of the prompt
 */
export async function resultUsage(
  finalUsage: Usage | null,
  content: CallContent,
  candidate: Candidate,
  held: () => number,
  count: () => Promise<number>,
): Promise<{ used: CallUsage; faults: UsageFaults }> {
  const { promptTokensBound, media, units } = candidate
  const prompt = finalUsage && faultOf(finalUsage, candidate, held)
  const theirs = prompt === 'absurd' ? null : finalUsage
  const reported = theirs?.promptTokens ? theirs : null
  const counted = () => (units && PRICED_WHOLE.has(units.kind) ? 0 : count())
  const promptTokens = Math.min(
    reported?.promptTokens ?? (await counted()),
    prompt === 'beyond-bound' || prompt === 'beyond-hold' ? held() : promptTokensBound,
  )
  const imageTokens = reported ? reported.imageTokens : media?.likely.image
  const usage: Usage = {
    promptTokens,
    completionTokens: 0,
    ...(imageTokens && { imageTokens: Math.min(imageTokens, media?.bound.image ?? 0, promptTokens) }),
    ...(units && { units: chargedUnits(theirs?.units || unreported(content, units.bound), units) }),
  }
  return {
    used: {
      usage,
      usageSource: theirs && prompt !== 'beyond-hold' ? 'upstream' : 'counted',
      usageClamped: prompt === 'absurd' || prompt === 'beyond-hold',
    },
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
  { promptTokensBound: bound, contextLength, units: priced }: Candidate,
  held: () => number,
): UsageFaults['prompt'] {
  if (![promptTokens, imageTokens, units].every(isCount) || imageTokens > promptTokens) return 'absurd'
  const isWithin = promptTokens <= bound
  // A text that is longer than the window, and counted all the same, says nothing about our bound.
  if (!isWithin && promptTokens > Math.min(tokensPossible(bound), contextLength)) return 'absurd'
  // Units of a model that is not priced by them are not charged.
  if (priced && units > priced.bound) return 'beyond-hold'
  if (isWithin) return null
  return promptTokens <= held() ? 'beyond-bound' : 'beyond-hold'
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

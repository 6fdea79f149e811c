import { rateNumber } from '../format.ts'
import type { CatalogModel } from './model-catalog.ts'

/** The average size of a call, in tokens. */
export interface CallSize {
  prompt: number
  completion: number
}

/** Of an account without calls: a question with some context, and a paragraph. */
export const TYPICAL_CALL: CallSize = { prompt: 1_000, completion: 300 }

/** The average of some calls; that of a typical one where there are none. */
export const averageCall = (total: {
  calls: number
  prompt_tokens: number
  completion_tokens: number
}): CallSize =>
  total.calls === 0
    ? TYPICAL_CALL
    : { prompt: total.prompt_tokens / total.calls, completion: total.completion_tokens / total.calls }

/** What a thousand calls of a size cost, in USD: for choosing, not for billing. Null for what is not priced by tokens alone. */
export const costOfThousand = ({ prompt, completion, unit }: CatalogModel, size: CallSize): number | null =>
  unit === undefined
    ? (rateNumber(prompt) * size.prompt + rateNumber(completion) * size.completion) / 1_000
    : null

/** An amount of USD in three digits, for choosing. */
export const roundedUsd = (usd: number): string =>
  usd.toLocaleString('en-US', { maximumSignificantDigits: 3 })

/** Where a value stands among those of a row. */
export interface Standing {
  /** Better than all that differ from it; none is where all are equal or only one is known. */
  isBest: boolean
  /** Of the greatest in the row: the length of its bar. */
  share: number
}

export function standingsOf(
  values: ReadonlyArray<number | null>,
  better: 'lower' | 'higher',
): Array<Standing | null> {
  const known = values.filter((value) => value !== null)
  const best = better === 'lower' ? Math.min(...known) : Math.max(...known)
  const most = Math.max(...known)
  const differ = known.some((value) => value !== best)
  return values.map((value) =>
    value === null ? null : { isBest: differ && value === best, share: most > 0 ? value / most : 0 },
  )
}

import type { Model } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'

/**
 * Models whose hosts put more before every prompt than promptTokensBound counts for all, in tokens. Only their length
 * matters, which the first call of an offer shows as well (src/core/routing/learned-tokens.ts).
 */
const LINES: ReadonlyArray<readonly [RegExp, number]> = [
  // The system message of its format; measured at five hosts: 67 to 86, with a date and the effort in it.
  [/gpt-oss/, 64],
  // Instructions of its maker; measured: 690 for one word.
  [/grok-([4-9]|code|build)/, 704],
]

/** Tokens that an offer of a model is known to add to a prompt. */
export const addedTokens = oncePer(
  ({ id }: Pick<Model, 'id'>): number => LINES.find(([name]) => name.test(id))?.[1] ?? 0,
)

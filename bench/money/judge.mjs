/** USD per token of a completion, in every scenario; a token of a prompt costs a thousandth of it. */
export const COMPLETION_USD = 0.001
export const PROMPT_USD = COMPLETION_USD / 1000

/** What a number of tokens costs. The prompts are short enough not to show. */
export const priceOf = (tokens, usd = COMPLETION_USD) => tokens * usd

/** Counts by another tokenizer, and a prompt, may be off by this. */
const TOLERANCE = 0.02
const FLOOR_USD = 0.0015

/**
 * `exact`: what is charged is what is right. `safe`: less is charged, but something, so that the operator bears a bounded
 * loss and no customer does. `wrong`: more is charged than is right, or nothing for what was delivered.
 * @param {{spent: number, right: number | [least: number, most: number], problem?: string}} outcome `problem`: something that no charge mends
 */
export function judge({ spent, right, problem }) {
  const [least, most] = Array.isArray(right) ? right : [right, right]
  const slack = Math.max(FLOOR_USD, most * TOLERANCE)
  if (problem !== undefined || spent > most + slack) return 'wrong'
  if (spent >= least - slack) return 'exact'
  return spent <= FLOOR_USD ? 'wrong' : 'safe'
}

/** One call of a conversation, with what `auto` expects of the models of the ladder, by index. */
export interface ConversationTurn {
  /** The price of a point; see PointPrices. */
  pointUsd: number
  /** Points of quality, less the cost in points, where no part of the prompt is cached. */
  valueAt(index: number): number
  /** USD of 1,000 such calls that the model costs less if it answered the call before, whose prompt is in its cache. */
  savedUsdPer1000At(index: number): number
}

/** A comparison of the model of a conversation with the model of the best value. Models are indexes of the ladder. */
export interface Stay {
  model: number
  best: number
  stays: boolean
  /** What leaving gains: the difference in value, in points, as if nothing were cached. */
  gainedPoints: number
  /** What leaving costs: the cached input of 1,000 calls, in USD and in points. */
  savedUsdPer1000: number
  savedPoints: number
}

/**
 * Whether the last call of a conversation stays on the model of the call before: while leaving costs more than it gains.
 * The calls before it are decided by the same rule, the first by value alone. Undefined if there is no call before, or
 * no model.
 */
export function staysOn<Turn extends ConversationTurn>(
  turns: readonly Turn[],
  bestAt: (turn: Turn) => number | undefined,
): Stay | undefined {
  let stay: Stay | undefined
  let model: number | undefined
  for (const turn of turns) {
    const best = bestAt(turn)
    if (best === undefined) return undefined
    stay = model === undefined ? undefined : compared(turn, model, best)
    model = stay?.stays ? stay.model : best
  }
  return stay
}

function compared(
  { pointUsd, valueAt, savedUsdPer1000At }: ConversationTurn,
  model: number,
  best: number,
): Stay {
  const gainedPoints = valueAt(best) - valueAt(model)
  const savedUsdPer1000 = savedUsdPer1000At(model)
  const savedPoints = savedUsdPer1000 / pointUsd
  return { model, best, stays: savedPoints >= gainedPoints, gainedPoints, savedUsdPer1000, savedPoints }
}

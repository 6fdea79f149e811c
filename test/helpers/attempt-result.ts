import type { AttemptOutcome, factsOf } from '../../src/core/calls/attempt-outcome.ts'

type Facts = ReturnType<typeof factsOf>
type Without<Outcome> = Outcome extends unknown ? Omit<Outcome, keyof Facts> : never

/** How an attempt ended, apart from what is known of every attempt. */
export type AttemptResult = Without<AttemptOutcome>

/** Takes an outcome apart, so that a test can say all that there is of the one or the other. */
export function takenApart(outcome: AttemptOutcome): Facts & { result: AttemptResult } {
  const { produced, httpStatus, firstTokenAt, malformedEvents, ...result } = outcome
  return { produced, httpStatus, firstTokenAt, malformedEvents, result: result as AttemptResult }
}

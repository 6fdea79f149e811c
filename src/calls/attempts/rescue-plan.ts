import type { CallBody, Candidate } from '../../core/calls/call-job.ts'
import type { Offer } from '../../core/catalog/catalog.ts'
import type { PastAttempt } from '../../core/failover/failover-state.ts'
import type { AttemptPlan } from './attempt-plan.ts'

/**
 * How a route may take over an answer that the client has seen the beginning of: by prefill on the same model where
 * its offer can and did not refuse one, else by saying the same from the beginning.
 * @param began the candidate that the answer came from first
 */
export function planRescue(
  { routeIndex, candidate, offer }: { routeIndex: number; candidate: Candidate; offer: Offer },
  began: Candidate,
  failures: readonly PastAttempt[],
  { messages }: CallBody,
): Pick<AttemptPlan, 'candidate' | 'rescue'> {
  if (candidate.modelId !== began.modelId) {
    // It is charged as what it takes over from, so it may say no more than that was held for.
    const completionLimit = Math.min(candidate.completionLimit, began.completionLimit)
    return { candidate: { ...candidate, completionLimit }, rescue: 'repeat' }
  }
  const wasRefused = failures.some(
    (past) => past.routeIndex === routeIndex && past.failure.kind === 'prefill-refused',
  )
  const isTaken = messages.at(-1)?.role === 'assistant'
  return { candidate, rescue: offer.assistantPrefill && !wasRefused && !isTaken ? 'continue' : 'repeat' }
}

import { type AttemptOutcome, factsOf } from '../../../core/calls/attempt-outcome.ts'
import type { Candidate } from '../../../core/calls/call-job.ts'
import { type CallContent, messagesOf } from '../../../core/calls/kinds/call-kinds.ts'
import { isRelayed } from '../../../core/calls/kinds/native.ts'
import type { Offer } from '../../../core/catalog/catalog.ts'
import { type AttemptFailure, attemptFailure } from '../../../core/failover/attempt-failure.ts'
import type { PastAttempt } from '../../../core/failover/failover-state.ts'
import { abortWith } from '../../../platform/process/abort-with.ts'
import { countTextTokens } from '../../../providers/count-tokens.ts'
import type { AttemptRequest } from '../../../providers/wire.ts'
import type { Ask, AttemptPlan } from './attempt-plan.ts'
import type { CompletionRelay } from './completion-relay.ts'
import { EchoGuard, PrefixGuard } from './prefix-guard.ts'

/**
 * How a route may continue a completion that the client has part of: by prefill on the same model if its offer supports
 * it and did not refuse one, otherwise by reproducing it from the start. Tool calls can only be reproduced.
 * @param began the candidate that the first content came from
 */
export function planRescue(
  { routeIndex, candidate, offer }: { routeIndex: number; candidate: Candidate; offer: Offer },
  { began, isTextOnly }: { began: Candidate; isTextOnly: boolean },
  failures: readonly PastAttempt[],
  content: CallContent,
): Pick<AttemptPlan, 'candidate' | 'rescue'> {
  if (candidate.modelId !== began.modelId) {
    // It is charged as the attempt it continues, so it is limited to that hold.
    const completionLimit = Math.min(candidate.completionLimit, began.completionLimit)
    return { candidate: { ...candidate, completionLimit }, rescue: 'repeat' }
  }
  const wasRefused = failures.some(
    (past) => past.routeIndex === routeIndex && past.failure.kind === 'prefill-refused',
  )
  const isTaken = messagesOf(content).at(-1)?.role === 'assistant' || isRelayed(content, offer)
  const mayContinue = offer.assistantPrefill && isTextOnly && !wasRefused && !isTaken
  return { candidate, rescue: mayContinue ? 'continue' : 'repeat' }
}

/** An attempt from the start that takes over if it produces exactly what the client already has. */
export async function repeatCompletion(
  request: AttemptRequest,
  relay: CompletionRelay,
  ask: Ask,
): Promise<AttemptOutcome> {
  const stop = abortWith(request.signal)
  const guard = new PrefixGuard(relay, relay.push, () => stop.abort())
  const outcome = await ask({ ...request, signal: stop.signal }, guard.push)
  return guard.differs || (outcome.kind === 'finished' && !guard.hasTakenOver)
    ? outputDiffers(outcome)
    : outcome
}

/** An attempt to continue where the text broke off, by assistant prefill within the same limit. */
export async function continueCompletion(
  request: AttemptRequest,
  relay: CompletionRelay,
  ask: Ask,
): Promise<AttemptOutcome> {
  const { content: said } = relay
  const { content } = request
  if (!('messages' in content)) throw new Error('a result was to be continued')
  const guard = new EchoGuard(said, relay.push)
  const used = await countTextTokens(said)
  const outcome = await ask(
    {
      ...request,
      content: { ...content, messages: [...content.messages, { role: 'assistant', content: said }] },
      completionLimit: Math.max(1, request.completionLimit - used),
    },
    guard.push,
  )
  switch (outcome.kind) {
    case 'finished':
      // The provider counts only its continuation, and the earlier part as prompt.
      return guard.finish(outcome.reason) ? { ...outcome, usage: null } : outputDiffers(outcome)
    case 'failed':
      return isCausedByPrefill(outcome.failure)
        ? { ...outcome, failure: { ...outcome.failure, kind: 'prefill-refused', hint: null } }
        : outcome
    // The client has not seen a complete response yet, so none of these is rescued.
    case 'expired':
    case 'cancelled':
      return outcome
    default:
      return outcome satisfies never
  }
}

/** The request without the prefill may be valid and fit the window. */
const isCausedByPrefill = ({ kind }: AttemptFailure): boolean =>
  kind === 'bad-request' || kind === 'context-length'

const outputDiffers = (outcome: AttemptOutcome): AttemptOutcome => ({
  ...factsOf(outcome),
  kind: 'failed',
  failure: attemptFailure('rescue-mismatch', 'says something else'),
})

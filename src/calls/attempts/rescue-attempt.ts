import { type AttemptFailure, attemptFailure } from '../../core/failover/attempt-failure.ts'
import { countTextTokens } from '../../providers/count-tokens.ts'
import type { AttemptRequest } from '../../providers/provider.ts'
import type { AnswerRelay } from './answer-relay.ts'
import type { Ask, AttemptOutcome } from './attempt-plan.ts'
import { EchoGuard } from './echo-guard.ts'
import { PrefixGuard } from './prefix-guard.ts'

/** An attempt from the beginning that takes over if it says exactly what the client already has. */
export async function repeatAnswer(
  request: AttemptRequest,
  relay: AnswerRelay,
  ask: Ask,
): Promise<AttemptOutcome> {
  const stop = new AbortController()
  const guard = new PrefixGuard(relay.content, relay.push, () => stop.abort())
  const outcome = await ask(
    { ...request, signal: AbortSignal.any([request.signal, stop.signal]) },
    guard.push,
  )
  return guard.differs || (outcome.kind === 'finished' && !guard.hasTakenOver)
    ? { kind: 'failed', failure: saysSomethingElse(), end: outcome.end }
    : outcome
}

/** An attempt that is asked to go on from where the text broke off, by assistant prefill within the same limit. */
export async function continueAnswer(
  request: AttemptRequest,
  relay: AnswerRelay,
  ask: Ask,
): Promise<AttemptOutcome> {
  const { content } = relay
  const guard = new EchoGuard(content, relay.push)
  const used = await countTextTokens(content)
  const outcome = await ask(
    {
      ...request,
      messages: [...request.messages, { role: 'assistant', content }],
      completionLimit: Math.max(1, request.completionLimit - used),
    },
    guard.push,
  )
  const { end } = outcome
  switch (outcome.kind) {
    case 'finished':
      // The provider counts its continuation only, and what came before as prompt.
      return guard.finish(outcome.reason)
        ? { ...outcome, usage: null }
        : { kind: 'failed', failure: saysSomethingElse(), end }
    case 'failed':
      return isOurMaking(outcome.failure)
        ? { kind: 'failed', failure: { ...outcome.failure, kind: 'prefill-refused', hint: null }, end }
        : outcome
    case 'cancelled':
      return outcome
    default:
      return outcome satisfies never
  }
}

/** The request without the prefill may be good, and no longer than the window. */
const isOurMaking = ({ kind }: AttemptFailure): boolean => kind === 'bad-request' || kind === 'context-length'

const saysSomethingElse = (): AttemptFailure => attemptFailure('rescue-mismatch', 'says something else')

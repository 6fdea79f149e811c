import type { ProviderKeyVault } from '../../catalog/provider-key-vault.ts'
import type { CallBody } from '../../core/calls/call-job.ts'
import type { OnProgress } from '../../core/calls/completion.ts'
import { type AttemptFailure, attemptFailure } from '../../core/failover/attempt-failure.ts'
import { type AttemptRequest, NOTHING_PRODUCED, type ProviderClient } from '../../providers/provider.ts'
import type { ProviderClients } from '../../providers/provider-clients.ts'
import {
  type Ask,
  type AttemptOutcome,
  type AttemptPlan,
  type AttemptSettings,
  firstTokenLimitMs,
} from './attempt-plan.ts'
import { keyOfAttempt } from './byok-key.ts'
import type { CompletionRelay } from './completion-relay.ts'
import { type DripRule, DripWatch } from './drip-watch.ts'
import { EchoGuard } from './echo-guard.ts'
import { fittingWindow } from './fitted-limit.ts'
import { continueAnswer, repeatAnswer } from './rescue.ts'

interface AttemptCall {
  envelope: { accountId: string; callDeadlineAt: number }
  body: CallBody
  signal: AbortSignal
}

interface AttemptDependencies {
  providers: ProviderClients
  /** Clients' own keys. Absent: none can be had. */
  byokKeys?: ProviderKeyVault
  settings: AttemptSettings
  now: () => number
}

/** One try at one offer, as planned. Its content goes to the relay. */
export async function runAttempt(
  plan: AttemptPlan,
  routeIndex: number,
  call: AttemptCall,
  relay: CompletionRelay,
  deps: AttemptDependencies,
): Promise<AttemptOutcome> {
  const client = fittingWindow(deps.providers(plan.offer.provider.wire), plan, call.body)
  const key = await keyOfAttempt(plan, call.envelope.accountId, deps.byokKeys)
  if (key.kind === 'failed') return untried(key.failure)
  const request: AttemptRequest = {
    accountId: call.envelope.accountId,
    offer: plan.offer,
    ...(key.kind === 'own' && { apiKey: key.secret }),
    messages: call.body.messages,
    parameters: call.body.parameters,
    exactJson: call.body.exactJson,
    completionLimit: plan.candidate.completionLimit,
    limits: {
      firstTokenMs: firstTokenLimitMs(plan, deps.settings),
      idleMs: deps.settings.idleTimeoutMs,
      totalMs: call.envelope.callDeadlineAt - deps.now(),
    },
    signal: call.signal,
  }
  relay.begin(routeIndex)
  const ask = askOf(client, plan, echoedPrefill(request))
  switch (plan.rescue) {
    case 'continue':
      return continueAnswer(request, relay, ask)
    case 'repeat':
      return repeatAnswer(request, relay, ask)
    case null: {
      const { leavesDrip } = plan
      const rule = leavesDrip && { tokensMin: deps.settings.dripTokensMin, leaves: leavesDrip }
      return unlessEmpty(
        rule ? await watched(request, relay, ask, rule) : await ask(request, relay.push),
        relay,
      )
    }
    default:
      return plan.rescue satisfies never
  }
}

/** Sends requests to a provider, with everything that its offer needs besides. */
function askOf(client: ProviderClient, { onFirstContent }: AttemptPlan, echoed: string | null): Ask {
  return async (request, onProgress) => {
    const echo = echoed === null ? null : new EchoGuard(echoed, onProgress)
    const onward = echo?.push ?? onProgress
    const end = await client.attempt(
      request,
      onFirstContent ? announcingFirst(onward, onFirstContent) : onward,
    )
    if (end.result.kind === 'finished') echo?.finish(end.result.reason)
    return { ...end.result, end }
  }
}

/** Calls `announce` once, before the first content is passed on. */
function announcingFirst(onward: OnProgress, announce: () => void): OnProgress {
  let isAnnounced = false
  return (progress) => {
    if (!isAnnounced && progress[0] !== 'thinking') {
      isAnnounced = true
      announce()
    }
    onward(progress)
  }
}

/** The client's own prefill, where the provider is of those that repeat it. */
function echoedPrefill({ messages, offer: { provider } }: AttemptRequest): string | null {
  const last = messages.at(-1)
  const isEchoed = provider.quirks?.prefillField === 'prefix' && last?.role === 'assistant'
  return isEchoed && typeof last.content === 'string' ? last.content : null
}

/** An answer that is left for another offer when it only drips. */
async function watched(
  request: AttemptRequest,
  relay: CompletionRelay,
  ask: Ask,
  rule: DripRule,
): Promise<AttemptOutcome> {
  const stop = new AbortController()
  const watch = new DripWatch(relay.push, rule, () => stop.abort())
  try {
    const signal = AbortSignal.any([request.signal, stop.signal])
    const outcome = await ask({ ...request, signal }, watch.push)
    if (!watch.wasDrip || outcome.kind === 'finished') return outcome
    const failure = attemptFailure('stalled', `fewer than ${rule.tokensMin} tokens in 30 s`)
    return { kind: 'failed', failure: { ...failure, httpStatus: outcome.end.httpStatus }, end: outcome.end }
  } finally {
    watch.end()
  }
}

/** The outcome of an attempt that never reached its provider. */
function untried(failure: AttemptFailure): AttemptOutcome {
  const end = { httpStatus: null, firstTokenAt: null, malformedEvents: 0, produced: NOTHING_PRODUCED }
  return { kind: 'failed', failure, end: { ...end, result: { kind: 'failed', failure } } }
}

/**
 * An answer that says it is whole and has nothing in it is a failure of its provider. One that reached its limit
 * before it came to say anything, or was filtered, is not.
 */
function unlessEmpty(outcome: AttemptOutcome, relay: CompletionRelay): AttemptOutcome {
  if (outcome.kind !== 'finished' || !relay.isEmpty) return outcome
  if (outcome.reason === 'length' || outcome.reason === 'content_filter') return outcome
  const failure = attemptFailure('empty-answer', `nothing before ${outcome.reason}`)
  return { kind: 'failed', failure, end: outcome.end }
}

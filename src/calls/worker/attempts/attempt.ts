import type { ByokKeyVault } from '../../../byok/byok-key-vault.ts'
import {
  type AttemptOutcome,
  type FinishedAttempt,
  factsOf,
  unsentAttempt,
} from '../../../core/calls/attempt-outcome.ts'
import type { Candidate } from '../../../core/calls/call-job.ts'
import type { OnProgress } from '../../../core/calls/completion.ts'
import {
  type CallContent,
  kindOf,
  messagesOf,
  parametersOf,
  withoutParameters,
} from '../../../core/calls/kinds/call-kinds.ts'
import { attemptFailure } from '../../../core/failover/attempt-failure.ts'
import { abortWith } from '../../../platform/process/abort-with.ts'
import type { ProviderClients } from '../../../providers/provider-clients.ts'
import type { AttemptRequest, ProviderClient } from '../../../providers/wire.ts'
import type { RunningCall } from '../running-calls.ts'
import { keyOfAttempt } from './attempt-key.ts'
import { type Ask, type AttemptPlan, type AttemptSettings, firstTokenLimitMs } from './attempt-plan.ts'
import { isPlausibleUsage } from './call-usage.ts'
import type { CompletionRelay } from './completion-relay.ts'
import { type DripRule, DripWatch } from './drip-watch.ts'
import { fittingWindow } from './fitting-window.ts'
import { LimitGuard } from './limit-guard.ts'
import { EchoGuard } from './prefix-guard.ts'
import { continueCompletion, repeatCompletion } from './rescue.ts'

interface AttemptDependencies {
  providers: ProviderClients
  byokKeys: Pick<ByokKeyVault, 'open'>
  settings: AttemptSettings
  now: () => number
}

/** Whether writes to the provider's prompt cache have a rate, or are billed to the client. */
const pricesCacheWrites = ({ rate, providerKeyId }: Candidate): boolean =>
  rate.cacheWrite !== undefined || providerKeyId !== undefined

/** Runs one attempt at one offer, as planned. Its content goes to the relay. */
export async function runAttempt(
  plan: AttemptPlan,
  routeIndex: number,
  call: RunningCall<CallContent>,
  relay: CompletionRelay,
  deps: AttemptDependencies,
): Promise<AttemptOutcome> {
  const kind = kindOf(call.content)
  const isCompletion = kind.asksFor === 'completion'
  const provider = deps.providers(plan.offer.provider.wire)
  const client = isCompletion ? fittingWindow(provider, plan, call.content) : provider
  const key = await keyOfAttempt(plan, call.envelope.accountId, deps.byokKeys)
  if (key.kind === 'failed') return unsentAttempt(key.failure)
  const request: AttemptRequest = {
    accountId: call.envelope.accountId,
    offer: plan.offer,
    ...(key.kind === 'chosen' && { apiKey: key.secret }),
    onNearLimit: plan.onNearLimit,
    callId: call.envelope.id,
    content: contentAt(plan.candidate, call.content),
    // A rescue attempt shows no reasoning, because the client has already read past it.
    ...(call.envelope.extended && plan.rescue === null && { extended: true }),
    image: plan.candidate.image,
    ...(pricesCacheWrites(plan.candidate) && { cachesPrompt: true }),
    completionLimit: plan.candidate.completionLimit,
    limits: {
      firstTokenMs: firstTokenLimitMs(plan, deps.settings),
      idleMs: deps.settings.idleTimeoutMs,
      totalMs: call.envelope.callDeadlineAt - deps.now(),
    },
    // A provider bills media once they are requested, so the attempt may finish after its client has left.
    signal: (kind.outlivesClient ? call.upstream : call.controller).signal,
    ...(call.convert && { convert: call.convert }),
  }
  relay.begin(routeIndex)
  const unbounded = askOf(client, plan, echoedPrefill(request))
  const ask = isCompletion ? withinLimit(unbounded, plan.candidate.completionLimit) : unbounded
  switch (plan.rescue) {
    case 'continue':
      return continueCompletion(request, relay, ask)
    case 'repeat':
      return repeatCompletion(request, relay, ask)
    case null: {
      const { leavesDrip } = plan
      const rule = leavesDrip && { tokensMin: deps.settings.dripTokensMin, leaves: leavesDrip }
      const outcome = rule ? await watched(request, relay, ask, rule) : await ask(request, relay.push)
      return failIfEmpty(call.envelope.stream ? outcome : endIfExpired(outcome, relay), plan, call, relay)
    }
    default:
      return plan.rescue satisfies never
  }
}

/**
 * What is asked of a candidate: without the parameters that it does not get. What is written to its prompt cache needs a
 * rate, unless its provider bills the client.
 */
function contentAt(candidate: Candidate, whole: CallContent): CallContent {
  const content = candidate.leftOut ? withoutParameters(whole, candidate.leftOut) : whole
  const kind = kindOf(content)
  if (!pricesCacheWrites(candidate)) return kind.withoutCaching?.(content) ?? content
  return candidate.rate.cacheWriteHour === undefined ? (kind.withShortCaching?.(content) ?? content) : content
}

/** Sends requests to a provider, with the handling that its offer needs. */
function askOf(client: ProviderClient, { onFirstContent }: AttemptPlan, echoed: string | null): Ask {
  return async (request, onProgress) => {
    const echo = echoed === null ? null : new EchoGuard(echoed, onProgress)
    const onward = echo?.push ?? onProgress
    const outcome = await client.attempt(
      request,
      onFirstContent ? announcingFirst(onward, onFirstContent) : onward,
    )
    if (outcome.kind === 'finished') echo?.finish(outcome.reason)
    return outcome
  }
}

/**
 * Ends a completion that exceeds its limit as if it had reached it. Its usage is counted, because the reported usage
 * includes the excess.
 */
function withinLimit(ask: Ask, completionLimit: number): Ask {
  return async (request, onProgress) => {
    const stop = abortWith(request.signal)
    const guard = new LimitGuard(completionLimit, onProgress, () => stop.abort())
    const outcome = await ask({ ...request, signal: stop.signal }, guard.push)
    if (!guard.isOver) return outcome
    const { stopAtLimit: nativeStop } = kindOf(request.content)
    return {
      ...factsOf(outcome),
      kind: 'finished',
      reason: 'length',
      usage: null,
      ranOn: true,
      ...(nativeStop && { nativeStop }),
    }
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

/** The client's own prefill, if the provider repeats prefills. */
function echoedPrefill({ content, offer: { provider } }: AttemptRequest): string | null {
  const last = messagesOf(content).at(-1)
  const isEchoed = provider.quirks?.prefillField === 'prefix' && last?.role === 'assistant'
  return isEchoed && typeof last.content === 'string' ? last.content : null
}

/** Runs an attempt that is left for another offer if it is too slow. */
async function watched(
  request: AttemptRequest,
  relay: CompletionRelay,
  ask: Ask,
  rule: DripRule,
): Promise<AttemptOutcome> {
  const stop = abortWith(request.signal)
  const watch = new DripWatch(relay.push, rule, () => stop.abort())
  try {
    const outcome = await ask({ ...request, signal: stop.signal }, watch.push)
    if (!watch.wasDrip || outcome.kind === 'finished') return outcome
    const failure = attemptFailure('stalled', `fewer than ${rule.tokensMin} tokens in 30 s`)
    return { ...factsOf(outcome), kind: 'failed', failure: { ...failure, httpStatus: outcome.httpStatus } }
  } finally {
    watch.end()
  }
}

/**
 * Turns a finished completion without content into a failure of its provider, unless it reached its limit or was
 * filtered before any content, or its model may have had nothing to say.
 */
function failIfEmpty(
  outcome: AttemptOutcome,
  { candidate }: AttemptPlan,
  { envelope, content }: RunningCall<CallContent>,
  relay: CompletionRelay,
): AttemptOutcome {
  if (outcome.kind !== 'finished' || relay.hasContent || relay.isDelivered) return outcome
  if (outcome.reason === 'length' || outcome.reason === 'content_filter') return outcome
  if (envelope.extended && isEmptyAnswer(outcome, candidate, content)) return outcome
  const failure = attemptFailure('empty-answer', `nothing before ${outcome.reason}`)
  return { ...factsOf(outcome), kind: 'failed', failure }
}

/**
 * Whether a completion of the extended contract is empty as its model meant it: after the result of a tool, before a stop
 * sequence, or by the usage that its provider reports.
 */
function isEmptyAnswer(
  { reason, unknownFinish, usage, produced }: FinishedAttempt,
  candidate: Candidate,
  content: CallContent,
): boolean {
  if (reason !== 'stop' || unknownFinish !== undefined) return false
  const lastTurn = messagesOf(content).findLast(({ role }) => role === 'tool' || role === 'assistant')
  if (lastTurn?.role === 'tool' || parametersOf(content).stop !== undefined) return true
  return usage !== null && isPlausibleUsage(usage, { text: '', finalUsage: usage, produced }, candidate)
}

/** Ends a completion at the deadline of its call, if it is returned as a whole and was still being produced. */
function endIfExpired(outcome: AttemptOutcome, relay: CompletionRelay): AttemptOutcome {
  if (outcome.kind !== 'failed' || outcome.failure.kind !== 'call-timeout') return outcome
  const { thinkingBytes, reasoningTokens } = outcome.produced
  const hasThought = thinkingBytes > 0 || reasoningTokens > 0
  return relay.isEmpty && !hasThought ? outcome : { ...factsOf(outcome), kind: 'expired' }
}

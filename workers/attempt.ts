import type { ProviderKeyVault } from '../src/catalog/provider-key-vault.ts'
import { type AttemptFailure, attemptFailure } from '../src/core/attempt-failure.ts'
import type { CallBody, Candidate } from '../src/core/call-job.ts'
import type { Offer } from '../src/core/catalog.ts'
import type { FinishReason } from '../src/core/completion.ts'
import type { Usage } from '../src/core/pricing.ts'
import type { AnswerRelay } from './answer-relay.ts'
import { announcingFirst } from './first-content.ts'
import { keyOfAttempt } from './own-key.ts'
import { PrefixGuard } from './prefix-guard.ts'
import { countTextTokens } from './providers/count-tokens.ts'
import type { AttemptEnd, AttemptRequest, ContentListener } from './providers/provider.ts'
import type { ProviderRegistry } from './providers/registry.ts'

/** Patience, in ms, as configured. */
export interface AttemptSettings {
  firstTokenTimeoutMs: number
  lastFirstTokenTimeoutMs: number
  reasoningFirstTokenTimeoutMs: number
  reasoningLastFirstTokenTimeoutMs: number
  idleTimeoutMs: number
}

export interface AttemptPlan {
  candidate: Candidate
  offer: Offer
  /** No other route would be left, so this one is given more time. */
  lastChance: boolean
  /** Hears that content has begun to come. */
  onFirstContent?: () => void
}

export type AttemptOutcome =
  /** `usage` as the provider said it for the whole answer; null when it has to be counted. */
  | { kind: 'finished'; reason: FinishReason; usage: Usage | null; end: AttemptEnd }
  | { kind: 'failed'; failure: AttemptFailure; end: AttemptEnd }
  | { kind: 'cancelled'; end: AttemptEnd }

interface AttemptCall {
  envelope: { accountId: string; callDeadlineAt: number }
  body: CallBody
  signal: AbortSignal
}

interface AttemptDependencies {
  providers: ProviderRegistry
  /** Clients' own keys. Absent: none can be had. */
  ownKeys?: ProviderKeyVault
  settings: AttemptSettings
  now: () => number
}

/**
 * One try at one offer. Where the client already has text of a broken stream the try is a rescue: it
 * continues that text by assistant prefill where the offer can, else it takes over if it says the same.
 */
export async function runAttempt(
  plan: AttemptPlan,
  routeIndex: number,
  call: AttemptCall,
  relay: AnswerRelay,
  deps: AttemptDependencies,
): Promise<AttemptOutcome> {
  const client = deps.providers(plan.offer.provider.wire)
  const key = await keyOfAttempt(plan, call.envelope.accountId, deps.ownKeys)
  if (key.kind === 'failed') return untried(key.failure)
  const request: AttemptRequest = {
    offer: plan.offer,
    ...(key.kind === 'own' && { apiKey: key.secret }),
    messages: call.body.messages,
    parameters: call.body.parameters,
    completionLimit: plan.candidate.completionLimit,
    limits: {
      firstTokenMs: firstTokenLimitMs(plan, deps.settings),
      idleMs: deps.settings.idleTimeoutMs,
      totalMs: call.envelope.callDeadlineAt - deps.now(),
    },
    signal: call.signal,
  }
  relay.begin(routeIndex)
  const { onFirstContent } = plan
  const heard = (listener: ContentListener) =>
    onFirstContent ? announcingFirst(listener, onFirstContent) : listener
  if (!relay.isShown) return outcomeOf(await client.attempt(request, heard(relay)))

  if (plan.offer.assistantPrefill && call.body.messages.at(-1)?.role !== 'assistant') {
    const end = await client.attempt(await continuing(request, relay.content), heard(relay))
    const outcome = outcomeOf(end)
    // The provider counts its continuation only, and what came before as prompt.
    return outcome.kind === 'finished' ? { ...outcome, usage: null } : outcome
  }
  const stop = new AbortController()
  const guard = new PrefixGuard(relay.content, relay, () => stop.abort())
  const end = await client.attempt(
    { ...request, signal: AbortSignal.any([call.signal, stop.signal]) },
    heard(guard),
  )
  return guard.differs || (end.result.kind === 'finished' && !guard.hasTakenOver)
    ? { kind: 'failed', failure: attemptFailure('rescue-mismatch', 'says something else'), end }
    : outcomeOf(end)
}

/** The outcome of an attempt that never reached its provider. */
function untried(failure: AttemptFailure): AttemptOutcome {
  const end = { httpStatus: null, firstTokenAt: null, malformedEvents: 0 }
  return { kind: 'failed', failure, end: { ...end, result: { kind: 'failed', failure } } }
}

function outcomeOf(end: AttemptEnd): AttemptOutcome {
  return { ...end.result, end }
}

/** The request that asks the same model to go on from where the text broke off, within the same limit. */
async function continuing(request: AttemptRequest, text: string): Promise<AttemptRequest> {
  const used = await countTextTokens(text)
  return {
    ...request,
    messages: [...request.messages, { role: 'assistant', content: text }],
    completionLimit: Math.max(1, request.completionLimit - used),
  }
}

/** The patience for the first token of an attempt, in ms. */
export function firstTokenLimitMs({ candidate, lastChance }: AttemptPlan, settings: AttemptSettings): number {
  if (candidate.reasoning) {
    return lastChance ? settings.reasoningLastFirstTokenTimeoutMs : settings.reasoningFirstTokenTimeoutMs
  }
  return lastChance ? settings.lastFirstTokenTimeoutMs : settings.firstTokenTimeoutMs
}

import type { ByokKeyVault, VaultAnswer } from '../../byok/byok-key-vault.ts'
import type { CallBody, CallEnvelope, Candidate } from '../../core/calls/call-job.ts'
import type { FinishReason, OnProgress } from '../../core/calls/completion.ts'
import { withoutCaching } from '../../core/calls/native-content.ts'
import { NATIVE_AT_LIMIT, type NativeRequest, type NativeStop } from '../../core/calls/native-message.ts'
import type { Usage } from '../../core/calls/usage.ts'
import type { Offer } from '../../core/catalog/catalog.ts'
import { type AttemptFailure, attemptFailure } from '../../core/failover/attempt-failure.ts'
import { withTimeout } from '../../platform/process/with-timeout.ts'
import { countPromptTokens } from '../../providers/count-tokens.ts'
import type { ProviderClients } from '../../providers/provider-clients.ts'
import { type AttemptEnd, type AttemptRequest, type ProviderClient, unsent } from '../../providers/wire.ts'
import type { CompletionRelay } from './completion-relay.ts'
import { type DripRule, DripWatch } from './drip-watch.ts'
import { LimitGuard } from './limit-guard.ts'
import { EchoGuard } from './prefix-guard.ts'
import { continueAnswer, repeatAnswer } from './rescue.ts'

interface AttemptCall {
  envelope: Pick<CallEnvelope, 'id' | 'accountId' | 'callDeadlineAt' | 'extended' | 'stream'>
  body: CallBody
  signal: AbortSignal
}

interface AttemptDependencies {
  providers: ProviderClients
  /** Clients' BYOK keys. Absent: none can be had. */
  byokKeys?: ByokKeyVault
  settings: AttemptSettings
  now: () => number
}

/** Whether what is written to the provider's prompt cache has a rate, or is billed to the client. */
const pricesCacheWrites = ({ rate, providerKeyId }: Candidate): boolean =>
  rate.cacheWrite !== undefined || providerKeyId !== undefined

/** One try at one offer, as planned. Its content goes to the relay. */
export async function runAttempt(
  plan: AttemptPlan,
  routeIndex: number,
  call: AttemptCall,
  relay: CompletionRelay,
  deps: AttemptDependencies,
): Promise<AttemptOutcome> {
  const { task } = call.body
  const provider = deps.providers(plan.offer.provider.wire)
  const client = task ? provider : fittingWindow(provider, plan, call.body)
  const key = await keyOfAttempt(plan, call.envelope.accountId, deps.byokKeys)
  if (key.kind === 'failed') return { ...key, end: unsent(key.failure) }
  const request: AttemptRequest = {
    accountId: call.envelope.accountId,
    offer: plan.offer,
    ...(key.kind === 'own' && { apiKey: key.secret }),
    messages: call.body.messages,
    parameters: call.body.parameters,
    exactJson: call.body.exactJson,
    // What finishes another attempt's text shows no reasoning of its own: the client has read on.
    ...(call.envelope.extended && plan.rescue === null && { extended: true }),
    native: nativeAt(plan.candidate, call.body),
    ...(task && { task, callId: call.envelope.id, image: plan.candidate.image }),
    ...(pricesCacheWrites(plan.candidate) && { cachesPrompt: true }),
    completionLimit: plan.candidate.completionLimit,
    limits: {
      firstTokenMs: firstTokenLimitMs(plan, deps.settings),
      idleMs: deps.settings.idleTimeoutMs,
      totalMs: call.envelope.callDeadlineAt - deps.now(),
    },
    signal: call.signal,
  }
  relay.begin(routeIndex)
  const unbounded = askOf(client, plan, echoedPrefill(request))
  const ask = task ? unbounded : withinLimit(unbounded, plan.candidate.completionLimit)
  switch (plan.rescue) {
    case 'continue':
      return continueAnswer(request, relay, ask)
    case 'repeat':
      return repeatAnswer(request, relay, ask)
    case null: {
      const { leavesDrip } = plan
      const rule = leavesDrip && { tokensMin: deps.settings.dripTokensMin, leaves: leavesDrip }
      const outcome = rule ? await watched(request, relay, ask, rule) : await ask(request, relay.push)
      return unlessEmpty(call.envelope.stream ? outcome : unlessExpired(outcome, relay), relay)
    }
    default:
      return plan.rescue satisfies never
  }
}

/** What a native call asks of a candidate; what its prompt cache costs is the client's affair on its own key alone. */
function nativeAt(candidate: Candidate, { native }: CallBody): NativeRequest | undefined {
  return native && !pricesCacheWrites(candidate) ? withoutCaching(native) : native
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

/** Ends an answer that runs past its limit, as one that reached it. Its usage is counted: what is reported is not ours. */
function withinLimit(ask: Ask, completionLimit: number): Ask {
  return async (request, onProgress) => {
    const stop = new AbortController()
    const guard = new LimitGuard(completionLimit, onProgress, () => stop.abort())
    const signal = AbortSignal.any([request.signal, stop.signal])
    const outcome = await ask({ ...request, signal }, guard.push)
    if (!guard.isOver) return outcome
    const native = request.native && { native: NATIVE_AT_LIMIT }
    return { kind: 'finished', reason: 'length', usage: null, ranOn: true, ...native, end: outcome.end }
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

/**
 * An answer that says it is whole and has nothing in it is a failure of its provider. One that reached its limit
 * before it came to say anything, or was filtered, is not.
 */
function unlessEmpty(outcome: AttemptOutcome, relay: CompletionRelay): AttemptOutcome {
  if (outcome.kind !== 'finished' || relay.hasAnswer || relay.isDelivered) return outcome
  if (outcome.reason === 'length' || outcome.reason === 'content_filter') return outcome
  const failure = attemptFailure('empty-answer', `nothing before ${outcome.reason}`)
  return { kind: 'failed', failure, end: outcome.end }
}

/** An answer that is given whole and was still being produced when the time of its call was over ends there. */
function unlessExpired(outcome: AttemptOutcome, relay: CompletionRelay): AttemptOutcome {
  if (outcome.kind !== 'failed' || outcome.failure.kind !== 'call-timeout') return outcome
  const { end } = outcome
  const hasThought = end.produced.thinkingBytes > 0 || end.produced.reasoningTokens > 0
  return relay.isEmpty && !hasThought ? outcome : { kind: 'expired', end }
}

/** Patience, in ms unless the name says otherwise, as configured. */
export interface AttemptSettings {
  firstTokenTimeoutMs: number
  lastFirstTokenTimeoutMs: number
  reasoningFirstTokenTimeoutMs: number
  reasoningLastFirstTokenTimeoutMs: number
  idleTimeoutMs: number
  /** An answer that nobody has seen yet is left for another offer when fewer tokens come in 30 s; 0: never. */
  dripTokensMin: number
}

export interface AttemptPlan {
  candidate: Candidate
  offer: Offer
  /** No other route would be left, so this one is given more time. */
  lastChance: boolean
  /** The client already has text of a broken stream: how the attempt may take over; null where it has none. */
  rescue: 'continue' | 'repeat' | null
  /** Hears that content has begun to come. */
  onFirstContent?: () => void
  /** Asked when hardly anything comes: whether another offer is to be asked instead. Absent: there is none. */
  leavesDrip?: () => Promise<boolean>
}

export type AttemptOutcome =
  /** `usage` as the provider said it for the whole answer; null when it has to be counted. */
  | {
      kind: 'finished'
      reason: FinishReason
      usage: Usage | null
      native?: NativeStop
      /** It ran past its completion limit, and was stopped. */
      ranOn?: true
      end: AttemptEnd
    }
  | { kind: 'failed'; failure: AttemptFailure; end: AttemptEnd }
  /** The time of the call was over while the answer, which is given whole, was being produced. */
  | { kind: 'expired'; end: AttemptEnd }
  | { kind: 'cancelled'; end: AttemptEnd }

/** Sends a request to the offer of an attempt. */
export type Ask = (request: AttemptRequest, onProgress: OnProgress) => Promise<AttemptOutcome>

/** The patience for the first token of an attempt, in ms. */
export function firstTokenLimitMs(
  { candidate, lastChance }: Pick<AttemptPlan, 'candidate' | 'lastChance'>,
  settings: AttemptSettings,
): number {
  if (candidate.reasoning) {
    return lastChance ? settings.reasoningLastFirstTokenTimeoutMs : settings.reasoningFirstTokenTimeoutMs
  }
  return lastChance ? settings.lastFirstTokenTimeoutMs : settings.firstTokenTimeoutMs
}

/** With which key an attempt goes to its provider. */
type AttemptKey =
  | { kind: 'ours' }
  | { kind: 'own'; secret: string }
  /** The client's BYOK key cannot be had, so there is nothing to try. */
  | { kind: 'failed'; failure: AttemptFailure }

const OPEN_WITHIN_MS = 2_000

/** Finds the key of an attempt. Never rejects. */
async function keyOfAttempt(
  { candidate, offer }: AttemptPlan,
  accountId: string,
  vault: ByokKeyVault | undefined,
): Promise<AttemptKey> {
  const { providerKeyId: keyId } = candidate
  if (keyId === undefined) return { kind: 'ours' }
  const unavailable: VaultAnswer = { kind: 'unavailable' }
  const opening = vault?.open({ keyId, accountId, providerId: offer.provider.id })
  // The vault never rejects; what it cannot do it says.
  const answer = opening ? await withTimeout(opening, OPEN_WITHIN_MS, unavailable) : unavailable
  switch (answer.kind) {
    case 'opened':
      return { kind: 'own', secret: answer.secret }
    case 'gone':
      return { kind: 'failed', failure: attemptFailure('refused', "the client's BYOK key is in use no more") }
    case 'unavailable':
      return {
        kind: 'failed',
        failure: attemptFailure('key-unavailable', "the client's BYOK key could not be looked up"),
      }
    default:
      return answer satisfies never
  }
}

/** Tells the vault how a provider received the client's BYOK key, where the outcome says so. */
export function noteReception(keyId: string, outcome: AttemptOutcome, vault: ByokKeyVault): void {
  if (outcome.kind === 'finished' || outcome.kind === 'expired') return vault.note(keyId, 'accepted')
  if (outcome.kind !== 'failed') return
  const { httpStatus, kind, isLate } = outcome.failure
  const isUnreachable = httpStatus === null && (kind === 'connect' || kind === 'reset')
  if (isUnreachable && !isLate) vault.note(keyId, 'unreachable')
  if (kind !== 'refused') return
  // 404 is about the model, and without a status no provider was asked. One wire refuses a key with a 400.
  if (httpStatus === 401 || httpStatus === 400) vault.note(keyId, 'unauthorized')
  if (httpStatus === 402) vault.note(keyId, 'payment_required')
  if (httpStatus === 403) vault.note(keyId, 'forbidden')
}

/** Tokenizers of today's models make up to so many times the tokens that ours counts: of most text, and of any. */
const TIMES_COUNTED = [1.1, 1.4]
/** What templates of chats and tools put around a prompt. */
const TOKENS_AROUND = 32
/** With less room than this a prompt is taken for as long as the window. */
const LEAST_LIMIT = 16

/**
 * A client for one candidate whose completion limits leave the prompt its place in the window. The bound of a prompt
 * is up to twice its tokens; where that and the limit fill the window or would exceed it the prompt is counted, roughly,
 * since each model counts differently and some providers add words of their own. A provider that finds it longer is asked again with a shorter limit, so that a
 * prompt is called too long only where it is.
 */
export function fittingWindow(
  client: ProviderClient,
  { candidate, offer }: { candidate: Candidate; offer: Offer },
  body: CallBody,
): ProviderClient {
  const window = offer.providerContextLength ?? candidate.contextLength
  if (candidate.promptTokensBound + candidate.completionLimit < window) return client
  return {
    async attempt(request, onProgress) {
      const startedAt = performance.now()
      // What a continued text takes of the limit it takes of the window.
      const continued = candidate.completionLimit - request.completionLimit
      const room = window - TOKENS_AROUND - continued
      const counted = await countPromptTokens(body, candidate.media)
      let end: AttemptEnd | undefined
      for (const completionLimit of limitsToTry(room, counted, request.completionLimit)) {
        end = await client.attempt({ ...within(request, startedAt), completionLimit }, onProgress)
        if (!isTooLong(end)) break
      }
      return end!
    },
  }
}

/** Ever shorter; at least one. */
function limitsToTry(room: number, counted: number, wanted: number): number[] {
  const rooms = TIMES_COUNTED.map((times) => room - Math.ceil(counted * times))
  const limits = [...rooms, LEAST_LIMIT].map((limit) => Math.min(wanted, Math.max(LEAST_LIMIT, limit)))
  return [...new Set(limits)]
}

/** The request with what is left of its time. */
function within(request: AttemptRequest, startedAt: number): AttemptRequest {
  const totalMs = Math.max(1, request.limits.totalMs - (performance.now() - startedAt))
  return { ...request, limits: { ...request.limits, totalMs } }
}

const isTooLong = ({ result }: AttemptEnd): boolean =>
  result.kind === 'failed' && result.failure.kind === 'context-length'

import { setTimeout as delay } from 'node:timers/promises'
import { createAttemptChain } from '../../src/calls/worker/attempts/attempt-chain.ts'
import { costOf } from '../../src/core/billing/pricing.ts'
import { type AttemptOutcome, NOTHING_PRODUCED } from '../../src/core/calls/attempt-outcome.ts'
import type { CallEnvelope, Candidate } from '../../src/core/calls/call-job.ts'
import type { CallOutcome } from '../../src/core/calls/call-outcome.ts'
import type { ChatMessage } from '../../src/core/calls/chat-request.ts'
import type { Delta, FinishReason, OnProgress } from '../../src/core/calls/completion.ts'
import type { CallContent } from '../../src/core/calls/kinds/call-kinds.ts'
import type { Usage } from '../../src/core/calls/usage.ts'
import type { CatalogSnapshot, Offer } from '../../src/core/catalog/catalog.ts'
import { readRates } from '../../src/core/catalog/token-rates.ts'
import {
  type AttemptFailure,
  attemptFailure,
  type FailureKind,
} from '../../src/core/failover/attempt-failure.ts'
import type { RouteHealth } from '../../src/core/failover/failover-state.ts'
import { greaterOf } from '../../src/core/kernel/money.ts'
import { createLogger } from '../../src/platform/observability/logger.ts'
import type { AttemptRequest, ProviderClient } from '../../src/providers/wire.ts'
import type { AttemptResult } from './attempt-result.ts'
import { candidateOf, chatOf, envelopeOf, runningOf } from './call-shapes.ts'
import { UNMEASURED } from './chain-parts.ts'
import { snapshot } from './planned-catalog.ts'
import { offerAt } from './scripted-provider.ts'

/** A text or another delta, bytes of thinking, a silence, or the moment at which the client hangs up. */
export type Said = string | { delta: Delta } | { thinks: number } | { waitMs: number } | { leaves: true }

/** One answer of a provider, without a network between. */
export interface Play {
  says?: readonly Said[]
  /** How it ends: by default whole. */
  end?: FinishReason | FailureKind | AttemptFailure
  usage?: Usage | null
  /** The service tier that it says it serves. */
  tier?: string
  /** By default 200; null: it answers no status. */
  httpStatus?: number | null
}

export interface PlayedRoute {
  /** The plays of its attempts, in order; the last repeats. */
  plays: readonly Play[]
  candidate?: Partial<Candidate>
  offer?: Partial<Offer>
  health?: RouteHealth
}

export interface PlayedCall {
  routes: readonly PlayedRoute[]
  stream?: boolean
  messages?: ChatMessage[]
  /** Absent: a chat of these messages. */
  content?: CallContent
  attemptsPerCall?: number
  convert?: AttemptRequest['convert']
}

export interface Played {
  outcome: CallOutcome
  envelope: CallEnvelope
  catalog: CatalogSnapshot
  /** What the client saw. */
  text: string
  opened: number[]
  requests: AttemptRequest[]
  /** `<model> <outcome>` of each attempt. */
  attempts: string[]
}

const FINISHES = new Set<unknown>(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])

/** Runs a call through the failover chain, with providers that play their parts and nothing else real but time. */
export async function playCall(call: PlayedCall): Promise<Played> {
  const offers = call.routes.map(({ offer }, index) => offerAt('http://none', offer, `p${index}/m`))
  const catalog = snapshot([], offers)
  const leaving = new AbortController()
  const requests: AttemptRequest[] = []
  const opened: number[] = []
  let text = ''
  const client: ProviderClient = {
    attempt(request, onProgress) {
      requests.push(request)
      const { plays } = call.routes[offers.indexOf(request.offer)]!
      const earlier = requests.filter(({ offer }) => offer === request.offer).length - 1
      return play(plays[Math.min(earlier, plays.length - 1)]!, request, onProgress, () => leaving.abort())
    },
  }
  const chain = createAttemptChain({
    ...UNMEASURED,
    catalog: () => catalog,
    providers: () => client,
    board: {
      health: (id) => call.routes[offers.findIndex((offer) => offer.id === id)]?.health ?? { kind: 'ready' },
      claimProbe: async () => null,
      probeAnswers: () => undefined,
      report: () => undefined,
      learn: () => undefined,
      exclude: () => undefined,
    },
    budget: { countCall: () => undefined, ask: async () => true, close: async () => undefined },
    settings: {
      attemptsPerCall: call.attemptsPerCall ?? 4,
      firstTokenTimeoutMs: 10_000,
      lastFirstTokenTimeoutMs: 30_000,
      reasoningFirstTokenTimeoutMs: 60_000,
      reasoningLastFirstTokenTimeoutMs: 180_000,
      idleTimeoutMs: 30_000,
      flexWaitMs: 600_000,
      dripTokensMin: 10,
    },
    logger: createLogger('silent', 'test'),
    now: Date.now,
    random: () => 0,
  })
  const envelope = plannedEnvelope(call, offers)
  const running = runningOf(envelope, call.content ?? chatOf(call.messages), {
    signal: leaving.signal,
    send(frame) {
      if (frame[0] === 'open') opened.push(frame[1])
      if (frame[0] === 'text') text += frame[1]
    },
  })
  const outcome = await chain({ ...running, convert: call.convert })
  const modelOf = (id: string) => envelope.candidates.find(({ offerId }) => offerId === id)!.modelId
  const attempts = outcome.attempts.map((attempt) => `${modelOf(attempt.offerId)} ${attempt.outcome}`)
  return { outcome, envelope, catalog, text, opened, requests, attempts }
}

async function play(
  { says = [], end = 'stop', usage = null, tier, httpStatus = 200 }: Play,
  request: AttemptRequest,
  onProgress: OnProgress,
  leave: () => void,
): Promise<AttemptOutcome> {
  let firstTokenAt: number | null = null
  let thinkingBytes = 0
  const ended = (result: AttemptResult): AttemptOutcome => ({
    ...result,
    httpStatus,
    firstTokenAt,
    malformedEvents: 0,
    produced: { ...NOTHING_PRODUCED, thinkingBytes, ...(tier !== undefined && { tier }) },
  })
  for (const said of says) {
    if (request.signal.aborted) return ended({ kind: 'cancelled' })
    if (typeof said === 'string') {
      firstTokenAt ??= Date.now()
      onProgress(['text', said])
    } else if ('delta' in said) {
      firstTokenAt ??= Date.now()
      onProgress(said.delta)
    } else if ('leaves' in said) leave()
    else if ('thinks' in said) {
      thinkingBytes += said.thinks
      onProgress(['thinking', said.thinks])
    } else await delay(said.waitMs, undefined, { signal: request.signal }).catch(() => undefined)
  }
  if (request.signal.aborted) return ended({ kind: 'cancelled' })
  if (FINISHES.has(end)) return ended({ kind: 'finished', reason: end as FinishReason, usage })
  const failure = typeof end === 'string' ? attemptFailure(end as FailureKind, 'played') : end
  return ended({ kind: 'failed', failure })
}

function plannedEnvelope({ routes, stream = true }: PlayedCall, offers: readonly Offer[]): CallEnvelope {
  const candidates = routes.map(({ candidate }, index) =>
    candidateOf({ offerId: offers[index]!.id, ...candidate }),
  )
  // As the plan holds: the most that the dearest candidate may cost.
  const mostCost = ({ rate, promptTokensBound, completionLimit }: Candidate) =>
    costOf({ promptTokens: promptTokensBound, completionTokens: completionLimit }, readRates(rate))
  return envelopeOf({
    stream,
    candidates,
    holdPico: String(candidates.map(mostCost).reduce<bigint>(greaterOf, 0n)),
  })
}

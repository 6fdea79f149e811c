import type { AutoDecision } from '../auto/routing-profiles.ts'
import type { UnitKind } from '../catalog/catalog.ts'
import type { ErrorCode } from '../kernel/errors.ts'
import type { CallId } from '../kernel/ids.ts'
import type { MediaTokens } from '../media/media-tokens.ts'
import type { CallLabels } from './call-labels.ts'
import type { ImageChoice } from './kinds/call-kind.ts'
import type { PricedTier } from './passed-fields.ts'
import type { PicoText, RateTexts, Usage } from './usage.ts'

/** How a call ended. */
export type CallStatus = 'completed' | 'failed' | 'cancelled' | 'interrupted'

/** A client's privacy requirements for providers that receive its prompt. */
export interface Privacy {
  zdr: boolean
  denyDataCollection: boolean
}

/** A target of the failover chain, with the rate of its hold. */
export interface Candidate {
  offerId: string
  modelId: string
  /** The entry of the request that selected it, as the client spelled it; returned as `model`. */
  requestedModel: string
  /** The rate that we charge: the listed rate, or the routing fee for a BYOK key. With a `tier` the dearest that may apply. */
  rate: RateTexts
  rateVersion: string
  /** The service tier that it is asked for, and its price in percent of `usual`. Absent: every tier costs the same. */
  tier?: { name: PricedTier; percent: number; usual: RateTexts }
  /** Context window, once for each of the texts that are read separately. */
  contextLength: number
  /** Upper bound of the prompt's tokens at this target, as held. */
  promptTokensBound: number
  /** The part that is media; absent: none. */
  media?: MediaTokens
  /** Units besides tokens, as held, and the minimum charge; absent: none. */
  units?: { kind: UnitKind; bound: number; least?: number }
  /** The provider runs tools of its own for the call: the uses that are held for, each with a rate. Absent: none. */
  uses?: { webSearches: number; codeExecutions: number }
  /** For images: the properties of each one, as held and as requested. */
  image?: ImageChoice
  /** Sent upstream, so that the hold is a true bound. */
  completionLimit: number
  /** The parameters of the request that it does not get; absent: it gets all. */
  leftOut?: string[]
  /** Its first token may be late. */
  reasoning: boolean
  /**
   * Requirements that its provider must still meet at the time of the attempt, because the catalog may change while a
   * call waits; absent: none.
   */
  privacy?: Privacy
  /** The id of the client's BYOK key to use, never its secret. Absent: a platform key. */
  providerKeyId?: string
}

/** The entry of the response cache for a request, and how long the response is kept there. */
export interface CachedUnder {
  digest: string
  seconds: number
}

/** Everything about a call except its text. Operators may see it in the queue's dashboard. */
export interface CallEnvelope {
  id: CallId
  accountId: string
  keyId: string
  requestId: string
  /** As requested: the first of the models, or `auto`. */
  requestedModel: string
  stream: boolean
  /** See ChatContent. */
  extended?: true
  /** The API instance that waits; workers publish frames to its channel. */
  replyChannel: string
  candidates: Candidate[]
  /** The basis of `auto`'s choice; absent if the call named its model. */
  auto?: AutoDecision
  holdPico: PicoText
  /** The hold of the catalog's cheapest call; a lower balance counts as exhausted. */
  leastCallPico?: PicoText
  /**
   * Digest of the call's `Idempotency-Key`, which names its record; or null. Such a call runs to its end even if its
   * client leaves, because a repeat may request its response.
   */
  idempotencyRecord: string | null
  /** Where its response is cached if it is complete; absent: nowhere. */
  cache?: CachedUnder
  /** The budgets that the hold was taken from, see drawText; absent: none. */
  draws?: string
  /** The completion limit that a short balance or budget afforded; absent: not reduced. */
  affordedLimit?: number
  /** See CallPlan. */
  ignoredParameters?: string[]
  /** The epoch of Redis's data in which the hold was taken, or an earlier one. */
  epoch?: string
  /** The trace of this call, as W3C text; absent: none. */
  traceparent?: string
  /** The client's id of the conversation, for traces; absent: none, or not traced. */
  conversation?: string
  /** The client's labels; absent: none. */
  labels?: CallLabels
  /** The hash of its conversation, which stays with the candidate that serves it; absent: it stays with none. */
  affinity?: number
  /** Unix milliseconds. */
  admittedAt: number
  /** Unix milliseconds; a later claim fails the call with `request_timeout`. */
  queueDeadlineAt: number
  /** Unix milliseconds; the deadline of the whole call. */
  callDeadlineAt: number
}

/** The envelope fields that the API needs to relay a response. */
export type ResponseEnvelope = Pick<
  CallEnvelope,
  | 'id'
  | 'accountId'
  | 'requestedModel'
  | 'idempotencyRecord'
  | 'admittedAt'
  | 'queueDeadlineAt'
  | 'callDeadlineAt'
  | 'affordedLimit'
  | 'ignoredParameters'
> & { candidates: ReadonlyArray<Pick<Candidate, 'requestedModel'>> }

/** A job of the dispatch queue. */
export interface CallJob {
  envelope: CallEnvelope
  /**
   * The content of the call as JSON (call-body.ts), sealed with AES-256-GCM under the master key: base64 if it is
   * short, else bytes, which are the field `body` of the job and not part of its data. Null: it is stored beside the
   * queue (src/calls/protocol/call-bodies.ts), since it is too large for a job; or nowhere, while the process that
   * admitted the call runs it.
   */
  sealedBody: Buffer | string | null
  /** Number of claims before Redis lost its job and this one replaced it. */
  claims?: number
  /** With `claims`: the worker that runs it. */
  worker?: string
  /** The candidate that is tried first, from 0, since its conversation is on it; added by admit.lua. Absent: the first. */
  first?: number
}

/** The envelope with a candidate moved to the front. Only one of those for the same name as the first (see Affinity). */
export function startingWith(envelope: CallEnvelope, first: number): CallEnvelope {
  if (first === 0) return envelope
  const { candidates } = envelope
  const moved = candidates[first]!
  return { ...envelope, candidates: [moved, ...candidates.filter((candidate) => candidate !== moved)] }
}

export interface AttemptRecord {
  offerId: string
  /** `ok`, or the failure's kind. */
  outcome: string
  /** The provider's HTTP status, if any. */
  httpStatus: number | null
  startedAt: number
  firstTokenMs: number | null
  durationMs: number
  /** The client's BYOK key that was used; absent: a platform key. */
  providerKeyId?: string
  /** The id of the platform key that was used, of a provider with several. */
  platformKeyId?: string
  /** True if it finished a completion that another attempt had started and broken off. */
  rescued?: boolean
  /** See AttemptFailure. */
  providerMessage?: string
  /** For an attempt that did not serve the call: its usage and our cost; absent if unknown. */
  spent?: Usage & { costPico: PicoText }
}

/** The offer that served a call, and its rates. */
export interface ServedBy {
  offerId: string
  /** The model that started the completion, whose rates are charged; another may have finished it. */
  modelId: string
  rate: RateTexts
  rateVersion: string
  /** Our price at the provider; zero if the provider bills the client. */
  cost: RateTexts
  /** The unit of the usage's units; absent: none. */
  unit?: UnitKind
  /** The client's BYOK key that served it; absent: a platform key. */
  providerKeyId?: string
}

/** The result of a call in the settlement queue: enough to charge it and to recompute the charge. */
export interface SettlementRecord {
  id: CallId
  accountId: string
  keyId: string
  requestId: string
  status: CallStatus
  errorCode: ErrorCode | null
  finishReason: string | null
  /** The model as named in the response: the entry of the request that served, or the first, as the client spelled it. */
  requestedModel: string
  stream: boolean
  /** The candidate that served; null if nothing was delivered. */
  served: ServedBy | null
  usage: Usage
  usageSource: 'upstream' | 'counted' | 'estimated' | 'none'
  /** The provider reported impossible usage, and our count replaced it. */
  usageClamped: boolean
  chargePico: PicoText
  holdPico: PicoText
  /** The hold in Redis at the end of the call, if it was not `holdPico`; added by finish-calls.lua. */
  redisHoldPico?: PicoText
  /** See CallEnvelope; absent if unknown. */
  leastCallPico?: PicoText
  attempts: AttemptRecord[]
  /**
   * The run asked which part of an earlier run's completion its client received, and no API instance answered. It ran
   * nothing, and its record states nothing about what the client received.
   */
  isUnanswered?: true
  /** See CallEnvelope. */
  auto?: AutoDecision
  /** Digest of the `Idempotency-Key` that identifies this call from now on; absent if it had none or released it. */
  idempotencyDigest?: string
  /** See CallEnvelope. */
  traceparent?: string
  /** See CallEnvelope. */
  labels?: CallLabels
  /** Its lane of the queue; absent: the default one. */
  lane?: 'flex'
  /** Unix milliseconds; null if the call ended earlier. */
  admittedAt: number
  claimedAt: number | null
  firstTokenAt: number | null
  finishedAt: number
}

/**
 * Whether this record has no serving offer: the call was withdrawn from the queue or lost, or all attempts of one
 * worker failed, whose successor may have succeeded. It releases the hold and charges nothing, and a record of a served
 * call outranks it.
 */
export const isUnserved = ({ served }: Pick<SettlementRecord, 'served'>): boolean => served === null

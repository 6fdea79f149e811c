import type { AutoDecision } from '../auto/tiers.ts'
import type { UnitKind } from '../catalog/catalog.ts'
import type { ExactJson } from '../json/json-text.ts'
import type { ErrorCode } from '../kernel/errors.ts'
import type { CallId } from '../kernel/ids.ts'
import type { MediaTokens } from '../media/media-tokens.ts'
import type { CallLabels } from './call-labels.ts'
import type { ChatMessage, SamplingParameters } from './chat-request.ts'
import type { ImageChoice } from './kinds/call-kind.ts'
import type { NativeRequest } from './native-message.ts'
import type { Task } from './task.ts'
import type { PicoText, RateTexts, Usage } from './usage.ts'

/** How a call ended. */
export type CallStatus = 'completed' | 'failed' | 'cancelled' | 'interrupted'

/** What a client demands of whoever sees its prompt. */
export interface Privacy {
  zdr: boolean
  denyDataCollection: boolean
}

/** One target the failover chain may try, with the rate it was held at. */
export interface Candidate {
  offerId: string
  modelId: string
  /** The entry of the request that led here, as the client spelled it; echoed as `model`. */
  requestedModel: string
  /** What we charge: the listed rate, or the routing fee where the client's BYOK key is used. */
  rate: RateTexts
  rateVersion: string
  contextLength: number
  /** Upper bound of the prompt's tokens at this target, as held. */
  promptTokensBound: number
  /** What of it is media; absent: nothing. */
  media?: MediaTokens
  /** What is not priced by tokens, as held, and what is charged at least; absent: nothing. */
  units?: { kind: UnitKind; bound: number; least?: number }
  /** Of a task that makes images: what each of them is, as held and as asked of the provider. */
  image?: ImageChoice
  /** Sent upstream, so that the hold is a true bound. */
  completionLimit: number
  /** Its first token may be late. */
  reasoning: boolean
  /** What its provider has to keep to when it is called; absent: nothing. A catalog may change while a call waits. */
  privacy?: Privacy
  /** The client's BYOK key at the provider is used: its id, never its secret. Absent: ours is. */
  providerKeyId?: string
}

/** Everything about a call but its text. This is what an operator may see in the queue's dashboard. */
export interface CallEnvelope {
  id: CallId
  accountId: string
  keyId: string
  requestId: string
  /** As the client asked: the first of its models, or `auto`. */
  requestedModel: string
  stream: boolean
  /** See ChatContent. */
  extended?: true
  /** The API instance that waits; workers publish frames to its channel. */
  replyChannel: string
  candidates: Candidate[]
  /** What `auto` chose the candidates by; absent where the call named its model. */
  auto?: AutoDecision
  holdPico: PicoText
  /** What the cheapest call of the catalog would have held; a balance below it pays for nothing. */
  leastCallPico?: PicoText
  /**
   * Digest of the call's `Idempotency-Key`, which names its record; or null. Such a call runs to its end even
   * when its client leaves, since a repeat may come for its answer.
   */
  idempotencyRecord: string | null
  /** The budgets that the hold was taken from, see drawText; absent: none. */
  draws?: string
  /** The completion limit that a short balance or budget left of a longer one; absent: it covered all. */
  affordedLimit?: number
  /** The epoch of Redis's data in which the hold was taken, or one before. */
  epoch?: string
  /** The trace this call is part of, as W3C text; absent where there is none. */
  traceparent?: string
  /** What the client says about it; absent: nothing. */
  labels?: CallLabels
  /** Unix milliseconds. */
  admittedAt: number
  /** Unix milliseconds; a claim after this answers `request_timeout`. */
  queueDeadlineAt: number
  /** Unix milliseconds; the whole call ends by then. */
  callDeadlineAt: number
}

/** What of an envelope is needed to wait for the call's answer and to write it. */
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
> & { candidates: ReadonlyArray<Pick<Candidate, 'requestedModel'>> }

/** A job of the dispatch queue. */
export interface CallJob {
  envelope: CallEnvelope
  /**
   * `CallBody` as JSON, sealed with AES-256-GCM under the master key, base64. Null: it is too large for a job, and
   * kept beside the queue (src/calls/relay/call-bodies.ts).
   */
  sealedBody: string | null
  /** How often the call was claimed before Redis lost its job and this one took its place. */
  claims?: number
}

/** The text of a call: sealed in the job, never logged, never stored elsewhere. */
export interface CallBody {
  messages: ChatMessage[]
  parameters: SamplingParameters
  /** See ChatRequest. */
  exactJson?: ExactJson | undefined
  /** See ChatRequest. In a sealed body it stands alone: the messages and parameters are read from it again. */
  native?: NativeRequest | undefined
  /** See ChatRequest. */
  task?: Task | undefined
}

/** One try at one offer. */
export interface AttemptRecord {
  offerId: string
  /** `ok`, or the failure's kind. */
  outcome: string
  /** The provider's HTTP status, where there was one. */
  httpStatus: number | null
  startedAt: number
  firstTokenMs: number | null
  durationMs: number
  /** The client's BYOK key that was used; absent where ours was. */
  providerKeyId?: string
  /** True: it finished an answer that the client had the beginning of, and that another attempt broke off. */
  rescued?: boolean
  /** See AttemptFailure. */
  providerMessage?: string
  /** Of one that did not serve the call, what it used and what we pay for that; absent where nothing is known. */
  spent?: Usage & { costPico: PicoText }
}

/** Who served a call, and at which rates. */
export interface ServedBy {
  offerId: string
  /** The model that the answer began with, whose rates are charged; another may have finished it. */
  modelId: string
  rate: RateTexts
  rateVersion: string
  /** What we pay the provider; nothing where it bills the client. */
  cost: RateTexts
  /** What the units of the usage are; absent: there are none. */
  unit?: UnitKind
  /** The client's BYOK key that it was served with; absent where ours was. */
  providerKeyId?: string
}

/** What happened to a call, as the settlement queue carries it: enough to charge it and to recompute the charge. */
export interface SettlementRecord {
  id: CallId
  accountId: string
  keyId: string
  requestId: string
  status: CallStatus
  errorCode: ErrorCode | null
  finishReason: string | null
  /** As the answer named it: the entry of the request that served, or the first, as the client spelled it. */
  requestedModel: string
  stream: boolean
  /** The candidate that served; null when nothing was delivered. */
  served: ServedBy | null
  usage: Usage
  /** Where the usage came from. */
  usageSource: 'upstream' | 'counted' | 'estimated' | 'none'
  /** The usage that the provider reported could not be, and a count of ours took its place. */
  usageClamped: boolean
  chargePico: PicoText
  holdPico: PicoText
  /** What Redis held when the call ended, where that was not `holdPico`; added by finish-calls.lua. */
  redisHoldPico?: PicoText
  /** See CallEnvelope; absent where it is not known. */
  leastCallPico?: PicoText
  attempts: AttemptRecord[]
  /** See CallEnvelope. */
  auto?: AutoDecision
  /** Digest of the `Idempotency-Key` that stands for this call from now on; absent where it had none, or freed it. */
  idempotencyDigest?: string
  /** See CallEnvelope. */
  traceparent?: string
  /** See CallEnvelope. */
  labels?: CallLabels
  /** Unix milliseconds; null where the call did not get there. */
  admittedAt: number
  claimedAt: number | null
  firstTokenAt: number | null
  finishedAt: number
}

/**
 * Whether this record names nobody who served: the call was withdrawn from the queue or lost, or all attempts of one
 * worker failed, whose successor may have been luckier. It releases the hold and charges nothing, and a record of a
 * call that was served outranks it.
 */
export const isUnserved = ({ served }: Pick<SettlementRecord, 'served'>): boolean => served === null

import { CALL_ERRORS } from './call-errors.ts'
import type { AttemptRecord, CallEnvelope, Candidate, SettlementRecord } from './call-job.ts'
import type { CompletionMessage, FinishReason } from './completion.ts'
import type { FrameBody, FrameError, ReportedUsage } from './frames.ts'
import type { NativeStop } from './messages-wire.ts'
import type { PicoText, Usage } from './usage.ts'

/**
 * How a call ended. `lastFrameOf` makes its last frame for the client, `settlementOf`
 * (core/billing/settlement.ts) its charge and record.
 */
export type CallOutcome = CompletedCall | InterruptedCall | CancelledCall | FailedCall

interface CallFacts {
  attempts: AttemptRecord[]
  /** Unix milliseconds. */
  firstTokenAt: number | null
  /** See SettlementRecord. */
  isUnanswered?: true | undefined
}

/** The charged usage of a call. */
export interface CallUsage {
  usage: Usage
  usageSource: SettlementRecord['usageSource']
  /** The usage that the provider reported for the whole completion was impossible, and a count of ours replaced it. */
  usageClamped: boolean
}

interface CountedCall extends CallFacts, CallUsage {
  /** Of the envelope's candidates: the one whose name the completion has, and whose rates are charged. */
  served: Candidate
  /** The service tier that the provider of `served` said it serves; absent: none. */
  tier?: string
  /** The candidate of another model that finished what `served` had started; absent otherwise. */
  rescuedBy?: Candidate
  /** What was produced. Null: of what was produced only the delivered text is known, and that is what is charged. */
  message: CompletionMessage | null
}

export interface CompletedCall extends CountedCall {
  status: 'completed'
  message: CompletionMessage
  finishReason: FinishReason
  reasoningTokens?: number
  nativeStop?: NativeStop
}

/** The completion broke off after content. */
export interface InterruptedCall extends CountedCall {
  status: 'interrupted'
  error: FrameError
}

/** The client left. `served` is null when nothing is charged. */
export interface CancelledCall extends Omit<CountedCall, 'served'> {
  status: 'cancelled'
  served: Candidate | null
}

/** Nothing was delivered, and nothing is charged. */
export interface FailedCall extends CallFacts {
  status: 'failed'
  error: FrameError
}

/** Of a call that is charged nothing. */
export const NOTHING_USED = {
  usage: { promptTokens: 0, completionTokens: 0 },
  usageSource: 'none',
  usageClamped: false,
} as const satisfies CallUsage

export const failedCall = (
  error: FrameError,
  { attempts, firstTokenAt, isUnanswered }: CallFacts = { attempts: [], firstTokenAt: null },
): FailedCall => ({ status: 'failed', error, attempts, firstTokenAt, isUnanswered })

export function lastFrameOf(
  outcome: CallOutcome,
  envelope: Pick<CallEnvelope, 'stream' | 'extended' | 'candidates'>,
  chargePico: PicoText,
): FrameBody {
  switch (outcome.status) {
    case 'completed': {
      const { finishReason, nativeStop, message, served } = outcome
      const usage = reportedUsage(outcome, envelope, chargePico)
      const native = nativeStop ? ([nativeStop] as const) : ([] as const)
      return envelope.stream
        ? ['finish', finishReason, usage, ...native]
        : ['completion', envelope.candidates.indexOf(served), message, finishReason, usage, ...native]
    }
    case 'failed':
    case 'interrupted':
      return ['error', outcome.error]
    case 'cancelled':
      return ['error', CALL_ERRORS.brokeOff]
    default:
      return outcome satisfies never
  }
}

/** The usage that is charged, of the provider or counted here. Extended calls also have the charge itself. */
function reportedUsage(
  {
    usage,
    usageSource,
    nativeStop,
    message,
    reasoningTokens = 0,
    served,
    tier = served.tier?.name,
  }: CompletedCall,
  { extended }: Pick<CallEnvelope, 'extended'>,
  chargePico: PicoText,
): ReportedUsage {
  if (!extended) return usage
  const isResult = message.result !== undefined
  const isWithin =
    usageSource === 'upstream' && reasoningTokens > 0 && reasoningTokens <= usage.completionTokens
  return {
    ...usage,
    ...(isWithin && !nativeStop && !isResult && { reasoningTokens }),
    ...(tier !== undefined && { tier }),
    chargePico,
  }
}

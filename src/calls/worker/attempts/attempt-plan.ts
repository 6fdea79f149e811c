import type { AttemptOutcome } from '../../../core/calls/attempt-outcome.ts'
import type { Candidate } from '../../../core/calls/call-job.ts'
import type { OnProgress } from '../../../core/calls/completion.ts'
import type { Offer } from '../../../core/catalog/catalog.ts'
import type { AttemptRequest } from '../../../providers/wire.ts'
import type { PoolKey } from './call-keys.ts'

/** Configured timeouts, in ms unless the name says otherwise. */
export interface AttemptSettings {
  firstTokenTimeoutMs: number
  lastFirstTokenTimeoutMs: number
  reasoningFirstTokenTimeoutMs: number
  reasoningLastFirstTokenTimeoutMs: number
  flexWaitMs: number
  idleTimeoutMs: number
  /** A completion that the client has not seen is left for another offer if fewer tokens arrive in 30 s; 0: never. */
  dripTokensMin: number
}

export interface AttemptPlan {
  candidate: Candidate
  offer: Offer
  /** The key to use, of several. Absent: there is one. */
  poolKey?: PoolKey | undefined
  /** Milliseconds until one of them takes calls at the offer. */
  keyBackMs?: (() => number) | undefined
  /** No other route is left, so this one gets more time. */
  lastChance: boolean
  /** How the attempt may continue a broken stream that the client has text of; null if it has none. */
  rescue: 'continue' | 'repeat' | null
  /** Called when the provider says that the key has hardly any requests or tokens left, for so many milliseconds. */
  onNearLimit?: ((restMs: number) => void) | undefined
  onFirstContent?: () => void
  /** Called when hardly any tokens arrive; returns whether to try another offer instead. Absent: there is none. */
  leavesDrip?: () => Promise<boolean>
}

/** Sends a request to the offer of an attempt. */
export type Ask = (request: AttemptRequest, onProgress: OnProgress) => Promise<AttemptOutcome>

/** The timeout for the first token of an attempt, in ms. */
export function firstTokenLimitMs(
  { candidate, lastChance }: Pick<AttemptPlan, 'candidate' | 'lastChance'>,
  settings: AttemptSettings,
): number {
  if (candidate.tier?.name === 'flex') return settings.flexWaitMs
  if (candidate.reasoning) {
    return lastChance ? settings.reasoningLastFirstTokenTimeoutMs : settings.reasoningFirstTokenTimeoutMs
  }
  return lastChance ? settings.lastFirstTokenTimeoutMs : settings.firstTokenTimeoutMs
}

import type { AttemptOutcome } from '../../../core/calls/attempt-outcome.ts'
import type { Candidate } from '../../../core/calls/call-job.ts'
import type { OnProgress } from '../../../core/calls/completion.ts'
import type { Offer } from '../../../core/catalog/catalog.ts'
import type { AttemptRequest } from '../../../providers/wire.ts'

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

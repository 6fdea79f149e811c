import { HOLD_SLACK_MS, type RestoredHold } from '../../billing/holds/hold-store.ts'
import type { CallEnvelope } from '../../core/calls/call-job.ts'

/** The hold of a running call: the full amount of its admission, and a slot of its key. */
export const runningHold = (envelope: CallEnvelope): RestoredHold =>
  restoredHold(envelope, BigInt(envelope.holdPico), true)

/** The hold of a call that waits for its settlement: its charge. */
export const endedHold = (envelope: CallEnvelope, chargePico: bigint): RestoredHold =>
  restoredHold(envelope, chargePico, false)

function restoredHold(envelope: CallEnvelope, amountPico: bigint, isOpen: boolean): RestoredHold {
  return {
    callId: envelope.id,
    accountId: envelope.accountId,
    keyId: envelope.keyId,
    amountPico,
    completionLimit: Math.max(0, ...envelope.candidates.map((candidate) => candidate.completionLimit)),
    draws: envelope.draws ?? '',
    deadlineAt: envelope.callDeadlineAt + HOLD_SLACK_MS,
    isOpen,
  }
}

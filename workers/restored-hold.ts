import type { RestoredHold } from '../src/billing/hold-gate.ts'
import type { CallEnvelope } from '../src/core/call-job.ts'

/** From the end of a call's last deadline until a sweep may look after its hold. */
const SLACK_MS = 60_000

/** The hold of a call as its envelope knows it. `isOpen`: the call runs, and takes a place of its key. */
export function restoredHold(envelope: CallEnvelope, isOpen: boolean): RestoredHold {
  return {
    callId: envelope.id,
    accountId: envelope.accountId,
    keyId: envelope.keyId,
    amountPico: BigInt(envelope.holdPico),
    completionLimit: Math.max(0, ...envelope.candidates.map((candidate) => candidate.completionLimit)),
    allowancePeriod: envelope.allowancePeriod ?? null,
    deadlineAt: envelope.callDeadlineAt + SLACK_MS,
    isOpen,
  }
}

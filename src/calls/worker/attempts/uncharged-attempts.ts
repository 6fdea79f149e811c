import { costOf } from '../../../core/billing/pricing.ts'
import type { AttemptOutcome } from '../../../core/calls/attempt-outcome.ts'
import type { AttemptRecord, CallEnvelope, Candidate } from '../../../core/calls/call-job.ts'
import type { CallContent } from '../../../core/calls/kinds/call-kinds.ts'
import type { Usage } from '../../../core/calls/usage.ts'
import type { CatalogSnapshot } from '../../../core/catalog/catalog.ts'
import type { FailureKind } from '../../../core/failover/attempt-failure.ts'
import { isSuccess, type UnfinishedAttempt, usageOf } from './call-usage.ts'

/** An attempt on our own key that its provider bills and that did not serve its call. */
export interface BilledAttempt {
  record: AttemptRecord
  candidate: Candidate
  /** What it said, as far as it is known: a rescue that was given up is compared and not kept. */
  text: string
  work: UnfinishedAttempt
}

/** Failures of a provider that has the prompt and works on it, or did. */
const WORKED_ON: ReadonlySet<FailureKind> = new Set([
  'silent',
  'stalled',
  'call-timeout',
  'empty-answer',
  'not-stored',
  'account-full',
])

/**
 * Whether the provider of an attempt that did not serve its call is taken to bill it: content came, or the provider had the
 * request when the attempt was given up. What it refused, or failed at before any content, it does not bill.
 */
export function isBilled(outcome: Extract<AttemptOutcome, { kind: 'failed' | 'cancelled' }>): boolean {
  const { firstTokenAt, httpStatus } = outcome
  if (firstTokenAt !== null) return true
  if (httpStatus !== null && !isSuccess(httpStatus)) return false
  return outcome.kind !== 'failed' || WORKED_ON.has(outcome.failure.kind)
}

/**
 * Notes in the records of attempts that no client pays what they used and what we pay for that, at the cost rates of now.
 * Tokens are counted here, once the call has ended: the provider seldom says what an answer used that it did not finish.
 */
export async function noteSpent(
  attempts: readonly BilledAttempt[],
  call: { envelope: CallEnvelope; body: CallContent },
  { offers }: CatalogSnapshot,
): Promise<void> {
  for (const { record, candidate, text, work } of attempts) {
    const cost = offers.get(candidate.offerId)?.cost
    if (!cost) continue
    const answer = {
      text,
      finalUsage: null,
      produced: work.produced,
      ...(work.hidden && { hidden: work.hidden }),
    }
    const usage: Usage = (await usageOf(answer, { ...call, served: candidate })).used.usage
    record.spent = { ...usage, costPico: String(costOf(usage, cost)) }
  }
}

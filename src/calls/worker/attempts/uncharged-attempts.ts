import { costOf } from '../../../core/billing/pricing.ts'
import { ratesAt, servedPercent } from '../../../core/billing/service-tier.ts'
import type { AttemptOutcome } from '../../../core/calls/attempt-outcome.ts'
import type { AttemptRecord, CallEnvelope, Candidate } from '../../../core/calls/call-job.ts'
import type { CallContent } from '../../../core/calls/kinds/call-kinds.ts'
import type { Usage } from '../../../core/calls/usage.ts'
import type { CatalogSnapshot } from '../../../core/catalog/catalog.ts'
import type { FailureKind } from '../../../core/failover/attempt-failure.ts'
import { isSuccess, type UnfinishedAttempt, usageOf } from './call-usage.ts'

/** An attempt with a platform key that its provider bills and that did not serve its call. */
export interface BilledAttempt {
  record: AttemptRecord
  candidate: Candidate
  /** Its output, if it is known: a failed rescue is compared and not kept. */
  text: string
  work: UnfinishedAttempt
}

/** Failures of a provider that has received the prompt and worked on it. */
const WORKED_ON: ReadonlySet<FailureKind> = new Set([
  'silent',
  'stalled',
  'call-timeout',
  'empty-answer',
  'not-stored',
  'account-full',
])

/**
 * Whether the provider probably bills an attempt that did not serve its call: content arrived, or the provider had the
 * request when the attempt was ended. It does not bill refusals and failures before any content.
 */
export function isBilled(outcome: Extract<AttemptOutcome, { kind: 'failed' | 'cancelled' }>): boolean {
  const { firstTokenAt, httpStatus } = outcome
  if (firstTokenAt !== null) return true
  if (httpStatus !== null && !isSuccess(httpStatus)) return false
  return outcome.kind !== 'failed' || WORKED_ON.has(outcome.failure.kind)
}

/**
 * Adds the usage that no client pays, and our cost, to the records of attempts, at the current cost rates. Tokens are
 * counted here, after the end of the call, because providers seldom report the usage of an unfinished completion.
 */
export async function noteSpent(
  attempts: readonly BilledAttempt[],
  call: { envelope: CallEnvelope; content: CallContent },
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
    const billed = ratesAt(cost, servedPercent(candidate, work.produced.tier))
    record.spent = { ...usage, costPico: String(costOf(usage, billed)) }
  }
}

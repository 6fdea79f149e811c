import { costOf, type Usage } from '../../core/billing/pricing.ts'
import type { AttemptRecord, CallBody, Candidate } from '../../core/calls/call-job.ts'
import { likelyMedia } from '../../core/calls/prompt-bound.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { countPromptTokens, countTextTokens } from '../../providers/count-tokens.ts'

/** An attempt on our own key that produced something and did not serve its call. */
export interface BrokenAttempt {
  record: AttemptRecord
  candidate: Candidate
  /** What it said, as far as it is known: a rescue that was given up is compared and not kept. */
  text: string
}

/**
 * Notes in the records of broken attempts what they used and what we pay for that, at the cost rates of now. Tokens
 * are counted here, once the call has ended: the provider seldom says what an answer used that it did not finish.
 */
export async function noteSpent(
  broken: readonly BrokenAttempt[],
  body: CallBody,
  { offers }: CatalogSnapshot,
): Promise<void> {
  for (const { record, candidate, text } of broken) {
    const cost = offers.get(candidate.offerId)?.cost
    if (!cost) continue
    const counted = await countTextTokens(text)
    const usage: Usage = {
      promptTokens: await countPromptTokens(body, candidate.media),
      ...likelyMedia(candidate.media),
      completionTokens: Math.min(counted, candidate.completionLimit),
    }
    record.spent = { ...usage, costPico: String(costOf(usage, cost)) }
  }
}

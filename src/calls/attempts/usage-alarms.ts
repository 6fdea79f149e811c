import type { Usage } from '../../core/billing/pricing.ts'
import { contentKindsOf } from '../../core/routing/request-shape.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { BreakerBoard } from '../../routing/breaker-board.ts'
import type { CallUsage, ServedCall, UsageFaults } from './call-usage.ts'

/**
 * Says what cannot be in a provider's usage, and whose fault that is. Where our own bound of the prompt was too low,
 * the offer gets no more calls with such content for a while: each would cost us what nobody pays.
 */
export function doubtUsage(
  reported: Usage,
  { used: { usage }, faults }: { used: CallUsage; faults: UsageFaults },
  { envelope, body, served }: ServedCall,
  { board, logger }: { board: Pick<BreakerBoard, 'exclude'>; logger: Logger },
): void {
  if (faults.prompt === null && !faults.completion) return
  const about = {
    callId: envelope.id,
    requestId: envelope.requestId,
    offerId: served.offerId,
    reportedPrompt: reported.promptTokens,
    reportedCompletion: reported.completionTokens,
    chargedPrompt: usage.promptTokens,
    chargedCompletion: usage.completionTokens,
  }
  if (faults.completion || faults.prompt === 'absurd') {
    logger.error({ alarm: 'usage-absurd', ...about }, 'a provider reported a usage that cannot be')
  }
  if (faults.prompt !== 'beyond-bound') return
  const kinds = contentKindsOf(body)
  logger.error(
    { alarm: 'prompt-bound-exceeded', ...about, kinds, bound: served.promptTokensBound },
    'our bound of a prompt was too low; the offer gets no more prompts with such content for a while',
  )
  // On the client's own key the tokens cost us nothing.
  if (served.providerKeyId === undefined) board.exclude(served.offerId, kinds)
}

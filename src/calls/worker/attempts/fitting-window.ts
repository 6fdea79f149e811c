import type { AttemptOutcome } from '../../../core/calls/attempt-outcome.ts'
import type { Candidate } from '../../../core/calls/call-job.ts'
import type { CallContent } from '../../../core/calls/kinds/call-kinds.ts'
import type { Offer } from '../../../core/catalog/catalog.ts'
import { countPromptTokens } from '../../../providers/count-tokens.ts'
import type { AttemptRequest, ProviderClient } from '../../../providers/wire.ts'

/** Ratio of the tokens of today's tokenizers to our count: for most text, and the maximum. */
const TIMES_COUNTED = [1.1, 1.4]
/** Tokens that templates of chats and tools add to a prompt. */
const TOKENS_AROUND = 32
/** With less space than this, a prompt counts as long as the window. */
const LEAST_LIMIT = 16

/**
 * A client for one candidate whose completion limits leave space for the prompt in the window. The bound of a prompt is
 * up to twice its tokens. If bound and limit exceed the window, the prompt is counted, roughly, since each model counts
 * differently and some providers add text. If a provider finds it longer, it is asked again with a shorter limit, so
 * that only prompts that really are too long fail as such.
 */
export function fittingWindow(
  client: ProviderClient,
  { candidate, offer }: { candidate: Candidate; offer: Offer },
  content: CallContent,
): ProviderClient {
  const window = offer.providerContextLength ?? candidate.contextLength
  if (candidate.promptTokensBound + candidate.completionLimit < window) return client
  return {
    async attempt(request, onProgress) {
      const startedAt = performance.now()
      // The part of the limit that a continued text uses, which is also part of the window.
      const continued = candidate.completionLimit - request.completionLimit
      const room = window - TOKENS_AROUND - continued
      const counted = await countPromptTokens(content, candidate.media)
      let outcome: AttemptOutcome | undefined
      for (const completionLimit of limitsToTry(room, counted, request.completionLimit)) {
        outcome = await client.attempt({ ...within(request, startedAt), completionLimit }, onProgress)
        if (!isTooLong(outcome)) break
      }
      return outcome!
    },
  }
}

/** Decreasing limits; at least one. */
function limitsToTry(room: number, counted: number, wanted: number): number[] {
  const rooms = TIMES_COUNTED.map((times) => room - Math.ceil(counted * times))
  const limits = [...rooms, LEAST_LIMIT].map((limit) => Math.min(wanted, Math.max(LEAST_LIMIT, limit)))
  return [...new Set(limits)]
}

/** The request with the rest of its time. */
function within(request: AttemptRequest, startedAt: number): AttemptRequest {
  const totalMs = Math.max(1, request.limits.totalMs - (performance.now() - startedAt))
  return { ...request, limits: { ...request.limits, totalMs } }
}

const isTooLong = (outcome: AttemptOutcome): boolean =>
  outcome.kind === 'failed' && outcome.failure.kind === 'context-length'

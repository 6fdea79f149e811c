import type { AttemptOutcome } from '../../../core/calls/attempt-outcome.ts'
import type { Candidate } from '../../../core/calls/call-job.ts'
import type { CallContent } from '../../../core/calls/kinds/call-kinds.ts'
import type { Offer } from '../../../core/catalog/catalog.ts'
import { countPromptTokens } from '../../../providers/count-tokens.ts'
import type { AttemptRequest, ProviderClient } from '../../../providers/wire.ts'

/** Tokenizers of today's models make up to so many times the tokens that ours counts: of most text, and of any. */
const TIMES_COUNTED = [1.1, 1.4]
/** What templates of chats and tools put around a prompt. */
const TOKENS_AROUND = 32
/** With less room than this a prompt is taken for as long as the window. */
const LEAST_LIMIT = 16

/**
 * A client for one candidate whose completion limits leave the prompt its place in the window. The bound of a prompt
 * is up to twice its tokens; where that and the limit fill the window or would exceed it the prompt is counted, roughly,
 * since each model counts differently and some providers add words of their own. A provider that finds it longer is asked again with a shorter limit, so that a
 * prompt is called too long only where it is.
 */
export function fittingWindow(
  client: ProviderClient,
  { candidate, offer }: { candidate: Candidate; offer: Offer },
  body: CallContent,
): ProviderClient {
  const window = offer.providerContextLength ?? candidate.contextLength
  if (candidate.promptTokensBound + candidate.completionLimit < window) return client
  return {
    async attempt(request, onProgress) {
      const startedAt = performance.now()
      // What a continued text takes of the limit it takes of the window.
      const continued = candidate.completionLimit - request.completionLimit
      const room = window - TOKENS_AROUND - continued
      const counted = await countPromptTokens(body, candidate.media)
      let outcome: AttemptOutcome | undefined
      for (const completionLimit of limitsToTry(room, counted, request.completionLimit)) {
        outcome = await client.attempt({ ...within(request, startedAt), completionLimit }, onProgress)
        if (!isTooLong(outcome)) break
      }
      return outcome!
    },
  }
}

/** Ever shorter; at least one. */
function limitsToTry(room: number, counted: number, wanted: number): number[] {
  const rooms = TIMES_COUNTED.map((times) => room - Math.ceil(counted * times))
  const limits = [...rooms, LEAST_LIMIT].map((limit) => Math.min(wanted, Math.max(LEAST_LIMIT, limit)))
  return [...new Set(limits)]
}

/** The request with what is left of its time. */
function within(request: AttemptRequest, startedAt: number): AttemptRequest {
  const totalMs = Math.max(1, request.limits.totalMs - (performance.now() - startedAt))
  return { ...request, limits: { ...request.limits, totalMs } }
}

const isTooLong = (outcome: AttemptOutcome): boolean =>
  outcome.kind === 'failed' && outcome.failure.kind === 'context-length'

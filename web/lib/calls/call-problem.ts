import type { CallAttempt, Generation } from '../../../src/core/api/calls.ts'
import { errorReason, errorRemedy, outcomeText } from '../error-reasons.ts'
import { plural } from '../format.ts'

/** Why a call did not complete, in sentences. */
export interface CallProblem {
  title: string
  /** What happened at the providers, and what it cost. */
  detail: string
  /** What to do now; null: nothing. */
  remedy: string | null
}

/** Completions that ended early without an error, by their finish reason. */
const EARLY_ENDS: Readonly<Record<string, CallProblem>> = {
  content_filter: {
    title: "The provider's content filter ended the completion.",
    detail: 'What was produced until then is charged.',
    remedy: 'Change the messages, or choose another model.',
  },
  length: {
    title: 'The completion reached its token limit.',
    detail: 'Its text ends early, and is charged as far as it goes.',
    remedy: 'Raise max_tokens, or request a shorter completion.',
  },
}

/** Null for a call that completed as it should. */
export function callProblem(
  call: Pick<Generation, 'status' | 'error_code' | 'finish_reason'> & {
    attempts: ReadonlyArray<Pick<CallAttempt, 'outcome' | 'http_status'>>
  },
): CallProblem | null {
  const { status, error_code: code, attempts } = call
  const remedy = code === null ? null : errorRemedy(code)
  switch (status) {
    case 'completed':
      return EARLY_ENDS[call.finish_reason ?? ''] ?? null
    case 'failed':
      return {
        title: `${code === null ? 'The call failed' : errorReason(code)}.`,
        detail: `${attemptsText(attempts)} Nothing was charged.`,
        remedy,
      }
    case 'interrupted':
      return {
        title: 'The completion broke off.',
        detail: `${attemptsText(attempts)} At most what was delivered is charged.`,
        remedy,
      }
    case 'cancelled':
      return {
        title: 'The client disconnected.',
        detail: 'The prompt and what was produced until then are charged, once a provider had answered.',
        remedy: null,
      }
    default:
      return status satisfies never
  }
}

/** `2 attempts: server error (HTTP 500), then no first token in time.` */
function attemptsText(attempts: ReadonlyArray<Pick<CallAttempt, 'outcome' | 'http_status'>>): string {
  if (attempts.length === 0) return 'No provider was asked.'
  const ends = attempts.map(({ outcome, http_status: status }) =>
    status === null || status === 200 ? outcomeText(outcome) : `${outcomeText(outcome)} (HTTP ${status})`,
  )
  return `${plural(attempts.length, 'attempt')}: ${ends.join(', then ')}.`
}

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

/** Null for a call that completed. */
export function callProblem(
  call: Pick<Generation, 'status' | 'error_code'> & {
    attempts: ReadonlyArray<Pick<CallAttempt, 'outcome' | 'http_status'>>
  },
): CallProblem | null {
  const { status, error_code: code, attempts } = call
  const remedy = code === null ? null : errorRemedy(code)
  switch (status) {
    case 'completed':
      return null
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

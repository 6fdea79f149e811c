import type { GuardPoint, Guardrail } from '../core/guardrails/guardrail.ts'

/** What a guardrail gets to know of a call besides its texts. */
export interface GuardedCall {
  /** Of the request. */
  id: string
  /** Null: not admitted yet. */
  callId: string | null
  model: string
  /** The end user that the request names; null: none, or an answer. */
  user: string | null
  accountId: string
  key: { id: string; name: string }
}

export type Verdict =
  | { action: 'allow' }
  /** `code` and `message` are the service's, for the client. */
  | { action: 'deny'; code: string; message: string }
  | { action: 'replace'; texts: readonly string[] }

/** What an adapter asks a service with. Its failures are errors. */
export interface AskedGuardrail extends Guardrail {
  secret: string | null
  point: GuardPoint
  call: GuardedCall
  post: (url: string, body: string, headers?: Record<string, string>) => Promise<string>
  nowMs: number
}

/** Asks the service of a guardrail. Rejects for an answer that is none. */
export type AskGuardrail = (texts: readonly string[], guardrail: AskedGuardrail) => Promise<Verdict>

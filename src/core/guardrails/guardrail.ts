import type { Fields } from '../json/json-object.ts'

/** The sealing purpose of guardrail secrets; their context is the guardrail's id. */
export const GUARDRAIL_PURPOSE = 'guardrail-secret'

/** Where a guardrail is asked: before a call is admitted, or before its answer ends. */
export const GUARD_POINTS = ['prompt', 'completion'] as const
export type GuardPoint = (typeof GUARD_POINTS)[number]

export const GUARDRAIL_KINDS = ['http', 'moderation', 'presidio'] as const
export type GuardrailKind = (typeof GUARDRAIL_KINDS)[number]

/** What happens where a guardrail does not answer in time, or not as it should. */
export const ON_FAILURE = ['allow', 'deny'] as const

/** A service of an account that judges the prompts and answers of its calls. */
export interface Guardrail {
  id: string
  /** Null: of every key of the account. */
  keyId: string | null
  kind: GuardrailKind
  url: string
  /** What signs requests, or the key that the service asks for; sealed for the id. Null: it asks for none. */
  secretSealed: string | null
  points: readonly GuardPoint[]
  /** Whether it may replace texts. A stream is held back for one that may replace its answer. */
  mayReplace: boolean
  timeoutMs: number
  onFailure: (typeof ON_FAILURE)[number]
  /** What its kind needs besides. */
  settings: Fields
}

/** A text that a guardrail is shown. */
export interface GuardedText {
  text: string
  /** Absent: it cannot be replaced. */
  replace?: (text: string) => void
  /** The arguments of a tool, which what replaces them must be as well. */
  isJson?: boolean
}

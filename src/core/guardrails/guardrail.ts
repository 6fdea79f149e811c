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
  settings: GuardrailSettings
}

/** What its kind needs besides, as the API names it. */
export interface GuardrailSettings {
  model?: string
  /** Of `moderation`: those that deny. Absent or empty: any. */
  categories?: string[]
  /** Of `presidio`. */
  language?: string
  score_threshold?: number
  entities?: string[]
}

/** Asks one about a text, outside of a call. Never rejects. */
export type TestGuardrail = (
  guardrail: Guardrail,
  point: GuardPoint,
  sample: { id: string; accountId: string; text: string },
) => Promise<{
  action: 'allow' | 'deny' | 'replace' | 'failed'
  code: string | null
  message: string | null
  text: string | null
}>

/** A text that a guardrail is shown. */
export interface GuardedText {
  text: string
  /** Absent: it cannot be replaced. */
  replace?: (text: string) => void
  /** The arguments of a tool, which what replaces them must be as well. */
  isJson?: boolean
}

/**
 * Kinds of task, for which models differ in quality. `word_problems` are those of school, `formulas` mathematics with
 * an answer to find, `expertise` law, medicine and taxes, where a wrong answer does harm. `other`: no rule applies, so a
 * model counts with its quality at reasoning and at working with data. `agentic` follows from tools or the routing profile, never from the text.
 */
export const TASK_KINDS = [
  'code',
  'worded_options',
  'numeric_options',
  'word_problems',
  'formulas',
  'proofs',
  'chat',
  'extraction',
  'expertise',
  'agentic',
  'other',
] as const
export type TaskKind = (typeof TASK_KINDS)[number]

/** A published measurement of a model at one kind of task. */
export interface QualityFigure {
  /** Share of tasks done well, 0 to 1, on the scale of the newest release of its source. */
  value: number
  standardError: number
  /** Where it was published, and for which settings of the model. */
  source: string
  /** `YYYY-MM-DD` of the publication. */
  date: string
}

export type ModelQuality = Partial<Record<TaskKind, QualityFigure>>

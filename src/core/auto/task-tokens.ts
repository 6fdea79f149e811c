import { REASONING_EFFORTS, type ReasoningEffort } from '../calls/request-parameters.ts'
import type { TaskKind } from './quality-figure.ts'

/** What a published set of tasks took a model. */
export interface TaskTokens {
  /** The effort of a call that asks for none. */
  defaultEffort: ReasoningEffort
  /** Output tokens of a task, reasoning included, by effort; absent: as the model's relatives. */
  byEffort?: Partial<Record<ReasoningEffort, number>>
  source: string
  /** `YYYY-MM-DD` of the publication. */
  date: string
}

export type CompletionTokens = Partial<Record<TaskKind, number>>

/** Tokens of a task at each effort, as a multiple of `medium`: the medians of the models published at several. */
const EFFORT_FACTOR: Record<ReasoningEffort, number> = {
  none: 0,
  minimal: 0.2,
  low: 0.42,
  medium: 1,
  high: 1.6,
  xhigh: 2.4,
  max: 4.6,
}

/** Tokens of a published task at an effort, from the published effort that is nearest. */
export function taskTokens({ byEffort = {} }: TaskTokens, effort: ReasoningEffort): number {
  const place = (one: ReasoningEffort) => REASONING_EFFORTS.indexOf(one)
  const [nearest] = (Object.keys(byEffort) as ReasoningEffort[]).sort(
    (a, b) => Math.abs(place(a) - place(effort)) - Math.abs(place(b) - place(effort)) || place(a) - place(b),
  )
  return nearest === undefined ? 0 : (byEffort[nearest]! * EFFORT_FACTOR[effort]) / EFFORT_FACTOR[nearest]
}

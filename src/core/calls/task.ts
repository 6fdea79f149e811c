import { kindOf, type ResultContent } from './kinds/call-kinds.ts'
import type { EmbeddingsContent } from './kinds/embeddings.ts'
import type { ModerationContent } from './kinds/moderation.ts'
import type { RerankContent } from './kinds/rerank.ts'
import type { MediaTask } from './media-task.ts'

export type Task = ResultContent
export type EmbeddingsTask = EmbeddingsContent
export type RerankTask = RerankContent
export type ModerationTask = ModerationContent
export { VECTOR_COMPONENTS_MAX } from './kinds/embeddings.ts'
export const isMediaTask = (task: Task): task is MediaTask => kindOf(task).outlivesClient === true
export const taskTexts = (task: Task): string[] => kindOf(task).texts(task).texts
export const taskUnits = (task: Task, bound: number): number =>
  kindOf(task).unreportedUnits?.(task, bound) ?? bound

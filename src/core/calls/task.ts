import { kindOf, type ResultContent } from './kinds/call-kinds.ts'

export type Task = ResultContent
export const isMediaTask = (task: Task): boolean => kindOf(task).outlivesClient === true
export const taskTexts = (task: Task): string[] => kindOf(task).texts(task).texts
export const taskUnits = (task: Task, bound: number): number =>
  kindOf(task).unreportedUnits?.(task, bound) ?? bound

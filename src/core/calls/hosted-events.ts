import { type Fields, isObject } from '../json/json-object.ts'

export const HOSTED_ADDED = 'response.output_item.added'
export const HOSTED_DONE = 'response.output_item.done'

const TOOLS =
  'web_search|file_search|computer|code_interpreter|image_generation|local_shell|shell|apply_patch|tool_search|mcp'
const ITEM = new RegExp(`^(${TOOLS})_\\w+$`)
const PROGRESS = new RegExp(`^response\\.(${TOOLS})_`)

/** Whether an item is of a tool that the maker's platform runs, or that its client runs for it. */
export const isHostedItem = ({ type }: Fields): boolean => ITEM.test(String(type))

/** Whether an event reports the progress of such an item. */
export const isHostedProgress = (type: string): boolean => PROGRESS.test(type)

/** An event of a hosted tool in a response: an item of it, or its progress. Its place is that in the provider's output. */
export type HostedEvent = Fields & { type: string; output_index: number }

/** The text of an event that the model wrote: a program, arguments, or what it searches for. */
export function hostedText({ type, delta, item }: HostedEvent): string {
  if (typeof delta === 'string') return delta
  const isDone = type === HOSTED_DONE && isObject(item) && item.action !== undefined
  return isDone ? JSON.stringify(item.action) : ''
}

import { type CallContent, kindOf } from './kinds/call-kinds.ts'

/** The content of a call as the JSON that is sealed for its worker. */
export function writeBody(content: CallContent): string {
  const { kind } = content
  return JSON.stringify({ ...(kindOf(content).write?.(content) ?? content), kind })
}

/** Reverses `writeBody`. Throws ApiError where the body is not valid. */
export function readBody(text: string): CallContent {
  const content = JSON.parse(text) as CallContent
  return kindOf(content).read?.({ ...content }) ?? content
}

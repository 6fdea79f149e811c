import { type CallContent, kindOf } from './kinds/call-kinds.ts'
import { contentOfPreviousRelease } from './previous-release.ts'

/** The content of a call as the JSON that is sealed for its worker. */
export function writeBody(content: CallContent): string {
  const { kind } = content
  return JSON.stringify({ ...(kindOf(content).write?.(content) ?? content), kind })
}

/** Reverses `writeBody`. Throws ApiError where the body is not valid. */
export function readBody(text: string): CallContent {
  const body = JSON.parse(text) as CallContent | Record<string, unknown>
  if (!('kind' in body)) return contentOfPreviousRelease(body)
  const content = body as CallContent
  return kindOf(content).read?.({ ...content }) ?? content
}

import type { ChatContent } from './chat-request.ts'
import type { CompletionMessage } from './completion.ts'
import type { CallContent, ResultContent } from './kinds/call-kinds.ts'
import { nativeContent } from './messages-request.ts'
import type { NativeRequest } from './native-message.ts'

/**
 * Reads what a fleet of the release before wrote and this one still has to serve: sealed bodies of jobs, and results in
 * frames and kept responses. To be deleted, with its callers and its test, in the release after this one.
 */

type PreviousBody =
  | Pick<ChatContent, 'messages' | 'parameters' | 'exactJson'>
  | { native: NativeRequest }
  | { messages: []; parameters: object; task: ResultContent }

/** A sealed body that does not name its kind. Throws ApiError where a native request is not valid. */
export function contentOfPreviousRelease(body: object): CallContent {
  const known = body as PreviousBody
  if ('native' in known) return nativeContent(known.native)
  if ('task' in known) return known.task
  return { kind: 'chat', ...known }
}

/** A result, as JSON: it was the text of a message. */
export const resultOf = ({ result, content }: CompletionMessage): string => result ?? content ?? '[]'

import type { StoredItem } from '../../core/calls/responses-items.ts'
import type { ResponseFormat } from './completion-writer.ts'
import type { ResponsesFormat } from './responses-format.ts'

/**
 * What a client sends in place of its conversation.
 * @param format of the response whose output is the summary
 * @param messages of the user, in the conversation
 */
export const compactionFormat = (
  format: ResponsesFormat,
  messages: readonly StoredItem[],
): ResponseFormat => ({
  stream: (head) => format.stream(head),
  whole(head, [, , message, reason, reported]) {
    const response = format.ended(head, format.outputOf(head, message), reason, reported)
    const { id, created_at, usage } = response
    const output = [...messages, ...response.output]
    return JSON.stringify({ id, object: 'response.compaction', created_at, output, usage })
  },
})

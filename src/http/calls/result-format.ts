import type { Usage } from '../../core/calls/usage.ts'
import type { CompletionHead, ResponseFormat, WholeBody } from './completion-writer.ts'

/** A result, and the values that its response repeats. `Content`: the content of the request. */
export interface ResultOf<Content> {
  head: CompletionHead
  /** The JSON of the kind's reader. It is not parsed and written again, because it may be long. */
  result: string
  usage: Usage | null
  content: Content
}

/** Writes the response of a kind. */
export type WriteResult<Content> = (result: ResultOf<Content>) => string | WholeBody

/** The format of a route whose calls request a result. */
export const resultFormat = <Content>(
  content: Content,
  write: WriteResult<Content>,
): ResponseFormat<string | WholeBody> => ({
  stream: () => {
    throw new Error('a call for a result has no stream')
  },
  whole: (head, [, , message, , usage]) => write({ head, result: message.result!, usage, content }),
})

/** The JSON of an object with one more field, whose value is JSON text, before the fields of another object. */
export const jsonAround = (before: object, field: string, json: string, after: object = {}): string =>
  `{${[inner(before), `"${field}":${json}`, inner(after)].filter((part) => part !== '').join(',')}}`

/** The JSON of an object without its braces. */
export const inner = (value: object): string => JSON.stringify(value).slice(1, -1)

/** The usage of a call whose result is priced by the tokens of its prompt. */
export const tokensUsed = (usage: Usage | null): object =>
  usage ? { usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens } } : {}

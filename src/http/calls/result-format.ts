import { resultOf } from '../../core/calls/previous-release.ts'
import type { Usage } from '../../core/calls/usage.ts'
import type { CompletionHead, ResponseFormat, WholeBody } from './completion-writer.ts'

/** A result, and what its response repeats beside it. `Content`: what was asked for. */
export interface Answered<Content> {
  head: CompletionHead
  /** JSON, as the reader of its kind made it: a large one is not parsed to be written again. */
  result: string
  usage: Usage | null
  content: Content
}

/** How a kind writes the response of its surfaces. */
export type WriteResult<Content> = (answered: Answered<Content>) => string | WholeBody

/** The format of a surface whose calls ask for a result. */
export const resultFormat = <Content>(
  content: Content,
  write: WriteResult<Content>,
): ResponseFormat<string | WholeBody> => ({
  stream: () => {
    throw new Error('a call for a result has no stream')
  },
  whole: (head, [, , message, , usage]) => write({ head, result: resultOf(message), usage, content }),
})

/** The JSON of an object with one more field, whose value is JSON already, before the fields of another. */
export const jsonAround = (before: object, field: string, json: string, after: object = {}): string =>
  `{${[inner(before), `"${field}":${json}`, inner(after)].filter((part) => part !== '').join(',')}}`

/** The JSON of an object without its braces. */
export const inner = (value: object): string => JSON.stringify(value).slice(1, -1)

/** The usage of a call whose result is priced by the tokens of its prompt. */
export const tokensUsed = (usage: Usage | null): object =>
  usage ? { usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens } } : {}

import type { Usage } from '../core/billing/pricing.ts'
import type { Task } from '../core/calls/task.ts'
import type { CompletionHead, ResponseFormat } from './completion-writer.ts'

/** How a surface writes what stands around an answer; the answer is the JSON text of an array. */
type Frame = (head: CompletionHead, answer: string, usage: Usage | null) => string

const fields = (value: Record<string, unknown>): string => JSON.stringify(value).slice(1, -1)

const tokens = (usage: Usage | null): string =>
  usage === null
    ? ''
    : `,${fields({ usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens } })}`

const FRAMES: Record<Task['kind'], Frame> = {
  embeddings: ({ id, model }, answer, usage) =>
    `{${fields({ id, object: 'list', model })},"data":${answer}${tokens(usage)}}`,
  moderation: ({ id, model }, answer) => `{${fields({ id, model })},"results":${answer}}`,
  rerank: ({ id, model }, answer, usage) => {
    const meta =
      usage?.units === undefined
        ? ''
        : `,${fields({ meta: { billed_units: { search_units: usage.units } } })}`
    return `{${fields({ id, model })},"results":${answer}${tokens(usage)}${meta}}`
  },
}

/** As clients of the surfaces that are no chats read it. */
export const taskFormat = (kind: Task['kind']): ResponseFormat => ({
  stream: () => {
    throw new Error(`there is no stream of ${kind}`)
  },
  whole: (head, [, , message, , usage]) => FRAMES[kind](head, message.content ?? '[]', usage),
})

import type { CatalogModel, MessagesModel } from '../core/api/catalog.ts'
import { invalid } from '../core/kernel/errors.ts'

/** A model of GET /v2/models; `auto` has neither a name nor sizes. */
type ListedModel = Pick<
  CatalogModel,
  'id' | 'created' | 'name' | 'kind' | 'context_length' | 'max_output_tokens'
>

const PAGE = 20
const PAGE_MAX = 1_000

/** A model in the form of the messages wire. */
export const messagesModel = (model: ListedModel): MessagesModel => ({
  type: 'model',
  id: model.id,
  display_name: model.name ?? model.id,
  created_at: new Date(model.created * 1_000).toISOString(),
  max_input_tokens: model.context_length ?? null,
  max_tokens: model.max_output_tokens ?? null,
})

type Query = Readonly<Record<string, string | string[] | undefined>>

/**
 * A page of the chat models, as the messages wire has them: `limit` models after the model `after_id`, or before
 * `before_id`. Throws ApiError `invalid_request`.
 */
export function messagesModelPage(models: readonly ListedModel[], query: Query) {
  const chats = models.filter(({ kind = 'chat' }) => kind === 'chat')
  const limit = query.limit === undefined ? PAGE : Number(query.limit)
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX)
    throw invalid('limit', `\`limit\` must be an integer from 1 to ${PAGE_MAX}.`)
  const indexOf = (name: 'after_id' | 'before_id'): number | null => {
    if (query[name] === undefined) return null
    const index = chats.findIndex(({ id }) => id === query[name])
    if (index < 0) throw invalid(name, `\`${name}\` must be the id of a listed model.`)
    return index
  }
  const after = indexOf('after_id')
  const before = indexOf('before_id')
  const start = after !== null ? after + 1 : before !== null ? Math.max(0, before - limit) : 0
  const end = Math.min(start + limit, before ?? chats.length)
  const page = chats.slice(start, end)
  return {
    data: page.map(messagesModel),
    has_more: after === null && before !== null ? start > 0 : end < chats.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}

import type { ModerationContent } from '../../core/calls/kinds/moderation.ts'
import { type Fields, isObject } from '../wire.ts'
import { type ResultKind, usageOf } from './result-kind.ts'

export const moderation: ResultKind<ModerationContent> = {
  path: '/moderations',
  request: ({ input }, { upstreamModel: model }) => ({ body: { model, input } }),
  read(content, { body }) {
    const result = verdictsOf(content, body.results)
    return result && { result, usage: usageOf(body) }
  },
}

/** One result per text, or one for all parts of a content. */
function verdictsOf({ input }: ModerationContent, results: unknown): object[] | null {
  if (!Array.isArray(results) || results.length === 0 || !results.every(isObject)) return null
  const count = input.every((entry) => typeof entry === 'string') ? input.length : 1
  if (results.length !== count) return null
  return results.map(({ flagged, categories, category_scores, category_applied_input_types }) => ({
    flagged:
      typeof flagged === 'boolean' ? flagged : Object.values(only(categories, isBoolean)).includes(true),
    categories: only(categories, isBoolean),
    category_scores: only(category_scores, Number.isFinite),
    ...(category_applied_input_types !== undefined && {
      category_applied_input_types: only(category_applied_input_types, isTexts),
    }),
  }))
}

/** The fields of an object that have a type. */
const only = (value: unknown, isOne: (entry: unknown) => boolean): Fields =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, entry]) => isOne(entry))) : {}

const isBoolean = (value: unknown) => typeof value === 'boolean'
const isTexts = (value: unknown) => Array.isArray(value) && value.every((entry) => typeof entry === 'string')

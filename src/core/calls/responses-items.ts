import { type Fields, isObject } from '../json/json-object.ts'
import { invalid } from '../kernel/errors.ts'

/** An item of a stored response or of its input. */
export type StoredItem = Fields & { id: string }

/** Ids of items end in the id of the call that they were made by. */
const CALL_OF_ITEM = /chatcmpl_[0-9A-Z]{26}$/

const isReference = (item: unknown): item is { id: string } =>
  isObject(item) && item.type === 'item_reference' && typeof item.id === 'string'

/** The most items that an input may refer to: each of them may be many times as long as its reference. */
const REFERENCES_MAX = 64

/**
 * The calls whose items an input refers to. Throws ApiError for more references than are followed, and for a second one
 * to an item, which would repeat it.
 */
export function referencedCalls(input: string | readonly unknown[]): string[] {
  if (typeof input === 'string') return []
  const referenced = new Set<string>()
  const calls = new Set<string>()
  for (const [index, item] of input.entries()) {
    if (!isReference(item)) continue
    const path = `input[${index}].id`
    if (referenced.has(item.id)) throw invalid(path, 'An item is referred to once.')
    if (referenced.size === REFERENCES_MAX)
      throw invalid(
        path,
        `\`input\` may refer to at most ${REFERENCES_MAX} stored items. Send the others themselves.`,
      )
    referenced.add(item.id)
    const [call] = CALL_OF_ITEM.exec(item.id) ?? []
    if (call !== undefined) calls.add(call)
  }
  return [...calls]
}

/** An input with the items that it refers to; references to other items stay. */
export function withReferencedItems(
  input: string | unknown[],
  items: readonly StoredItem[],
): string | unknown[] {
  if (typeof input === 'string' || items.length === 0) return input
  const known = new Map(items.map((item) => [item.id, item]))
  return input.map((item) => (isReference(item) ? (known.get(item.id) ?? item) : item))
}

/** The items of an input, each with an id, and with texts as parts. */
export function inputItems(input: string | readonly unknown[], callId: string): StoredItem[] {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  return items.filter(isObject).map((item, index): StoredItem => {
    const type = typeof item.type === 'string' ? item.type : 'message'
    const id = typeof item.id === 'string' && item.id !== '' ? item.id : `in_${index}_${callId}`
    if (type !== 'message' || typeof item.content !== 'string') return { ...item, type, id }
    const text = { type: item.role === 'assistant' ? 'output_text' : 'input_text', text: item.content }
    return { ...item, type, id, status: 'completed', content: [text] }
  })
}

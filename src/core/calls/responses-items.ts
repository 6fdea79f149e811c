import { type Fields, isObject } from '../json/json-object.ts'
import { invalid } from '../kernel/errors.ts'
import { isHostedItem } from './hosted-events.ts'

/** An item of a stored response or of its input. */
export type StoredItem = Fields & { id: string }

/** A response object of the API. */
export type ResponseObject = Record<string, unknown> & { id: string; status: string; output: StoredItem[] }

const SEALED_MEMBER = '"sealed_reasoning":'

/** A stored item as its client sees it: without what is sealed for the turns that continue it. */
export const shownItem = ({ sealed_reasoning: _, ...item }: StoredItem): StoredItem => item

/** The same of a stored response, JSON. */
export function shownResponse(stored: string): string {
  // In texts the quotation marks are escaped.
  if (!stored.includes(SEALED_MEMBER)) return stored
  const response = JSON.parse(stored) as ResponseObject
  return JSON.stringify({ ...response, output: response.output.map(shownItem) })
}

/** Ids of items end in the id of the call that they were made by; those of its input have a number before it. */
const CALL_OF_ITEM = /^(in_\d+_)?.*(chatcmpl_[0-9A-Z]{26})$/

/** What is read of a stored response: the response object, the items of its input without the turns before it, or both. */
export type ResponsePart = 'response' | 'input' | 'both'

const isReference = (item: unknown): item is { id: string } =>
  isObject(item) && item.type === 'item_reference' && typeof item.id === 'string'

/** The most items that an input may refer to: each of them may be many times as long as its reference. */
const REFERENCES_MAX = 64

/**
 * The calls whose items an input refers to, and the part of each that has them. Throws ApiError for more references than
 * are followed, and for a second one to an item, which would repeat it.
 */
export function referencedCalls(input: string | readonly unknown[]): Map<string, ResponsePart> {
  const calls = new Map<string, ResponsePart>()
  if (typeof input === 'string') return calls
  const referenced = new Set<string>()
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
    const [, ofInput, call] = CALL_OF_ITEM.exec(item.id) ?? []
    if (call === undefined) continue
    const part = ofInput === undefined ? 'response' : 'input'
    calls.set(call, (calls.get(call) ?? part) === part ? part : 'both')
  }
  return calls
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

export const referencedItems = (input: string | readonly unknown[]): string[] =>
  typeof input === 'string' ? [] : input.filter(isReference).map(({ id }) => id)

const ID_MAX = 200

/**
 * The items of an input to store, each with an id, and with texts as parts. Of each item only what is read again: a
 * field that no provider is sent costs nothing, so it could be of any length.
 */
export function inputItems(
  input: string | readonly unknown[],
  callId: string,
  isReadable: (encryptedReasoning: string) => boolean,
): StoredItem[] {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  return items.filter(isObject).map((item, index): StoredItem => {
    const type = typeof item.type === 'string' ? item.type.slice(0, ID_MAX) : 'message'
    const isId = typeof item.id === 'string' && item.id !== '' && item.id.length <= ID_MAX
    const id = isId ? (item.id as string) : `in_${index}_${callId}`
    const status = STATUSES.has(item.status) ? { status: item.status } : {}
    return { type, id, ...status, ...readAgain(type, item, isReadable) }
  })
}

const STATUSES = new Set<unknown>(['in_progress', 'completed', 'incomplete'])

/** The fields that `readInput` reads. */
function readAgain(type: string, item: Fields, isReadable: (encrypted: string) => boolean): Fields {
  switch (type) {
    case 'message':
      return { status: 'completed', role: item.role, content: partsOf(item.content, item.role) }
    case 'function_call':
      return pick(item, ['call_id', 'namespace', 'name', 'arguments'])
    case 'custom_tool_call':
      return pick(item, ['call_id', 'namespace', 'name', 'input'])
    case 'function_call_output':
    case 'custom_tool_call_output':
      return {
        call_id: item.call_id,
        output: Array.isArray(item.output) ? partsOf(item.output) : item.output,
      }
    case 'reasoning':
      return reasoningOf(item, isReadable)
    case 'compaction':
      return isReadable(String(item.encrypted_content)) ? pick(item, ['encrypted_content']) : {}
    default:
      return isHostedItem({ type }) ? item : {}
  }
}

const PART_FIELDS: Record<string, readonly string[]> = {
  input_text: ['text'],
  output_text: ['text'],
  refusal: ['refusal'],
  input_image: ['image_url', 'detail'],
  input_file: ['file_data', 'file_url', 'filename'],
  input_audio: ['input_audio'],
}

function partsOf(content: unknown, role?: unknown): unknown {
  if (typeof content === 'string')
    return [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: content }]
  if (!Array.isArray(content)) return content
  return content.filter(isObject).map((part) => {
    const fields = PART_FIELDS[String(part.type)] ?? []
    const kept: Fields = { type: part.type, ...pick(part, fields) }
    // Where a file has both, its data is read.
    if (kept.file_data != null) delete kept.file_url
    if (isObject(kept.input_audio)) kept.input_audio = pick(kept.input_audio, ['data', 'format'])
    return kept
  })
}

/** Of a reasoning item one of these is read: its encrypted content if it opens, its text, its summary. */
function reasoningOf(
  { content, summary, encrypted_content: encrypted, sealed_reasoning: sealed }: Fields,
  isReadable: (encrypted: string) => boolean,
): Fields {
  if (typeof encrypted === 'string' && isReadable(encrypted))
    return { summary: [], encrypted_content: encrypted }
  const texts = (parts: unknown) =>
    (Array.isArray(parts) ? parts : []).filter(isObject).map((part) => pick(part, ['type', 'text']))
  const text = texts(content)
  if (typeof sealed === 'string' && isReadable(sealed))
    return { summary: [], content: text, sealed_reasoning: sealed }
  return text.some((part) => part.text) ? { summary: [], content: text } : { summary: texts(summary) }
}

export function pick(item: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.filter((name) => item[name] !== undefined).map((name) => [name, item[name]]),
  )
}

/** The bytes of a JSON value, at least: without escapes and whitespace. */
export function jsonBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 2
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + jsonBytes(each) + 1, 2)
  if (!isObject(value)) return String(value).length
  return Object.entries(value).reduce((sum, [name, each]) => sum + name.length + jsonBytes(each) + 4, 2)
}

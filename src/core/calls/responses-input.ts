import { type Fields, isObject } from '../json/json-object.ts'
import { invalid } from '../kernel/errors.ts'

/** A message in the format of the extended chat request, before validation. */
interface Message {
  role: unknown
  content: unknown
  name?: unknown
  tool_call_id?: unknown
  tool_calls?: unknown[]
  reasoning?: string
}

export interface InputItems {
  messages: Message[]
  /** The path of a message's source, by its index; null: unknown. */
  pathOf: (message: number | null) => string
}

/**
 * Converts the input of a response to messages. Reasoning and function calls belong to the assistant's turn that
 * contains them. Throws ApiError `invalid_request` for items and parts of other kinds.
 */
export function readInput({
  input,
  instructions,
}: {
  input: string | unknown[]
  instructions?: string | null
}): InputItems {
  const messages: Message[] = []
  const paths: string[] = []
  let thought = ''
  const add = (path: string, message: Message): void => {
    if (message.role === 'assistant' && thought !== '') message.reasoning = thought
    thought = ''
    paths.push(path)
    messages.push(message)
  }
  if (instructions) add('instructions', { role: 'system', content: instructions })
  if (typeof input === 'string') add('input', { role: 'user', content: input })
  for (const [index, item] of (typeof input === 'string' ? [] : input).entries()) {
    const path = `input[${index}]`
    if (!isObject(item)) throw invalid(path, 'Each item of `input` must be an object.')
    switch (item.type ?? 'message') {
      case 'message':
        add(path, { role: item.role, content: contentOf(item.content, `${path}.content`) })
        break
      case 'function_call': {
        const call = callOf(item)
        const last = messages.at(-1)
        if (last?.role !== 'assistant') add(path, { role: 'assistant', content: null, tool_calls: [call] })
        else {
          last.tool_calls = [...(last.tool_calls ?? []), call]
          if (thought !== '') last.reasoning = thought
          thought = ''
        }
        break
      }
      case 'function_call_output':
        add(path, {
          role: 'tool',
          tool_call_id: item.call_id,
          content: contentOf(item.output, `${path}.output`),
        })
        break
      case 'reasoning':
        thought = thoughtOf(item)
        break
      case 'item_reference':
        throw invalid(`${path}.type`, 'Responses are not stored: send the item itself.')
      default:
        throw invalid(
          `${path}.type`,
          'The `type` of an item must be one of message, function_call, function_call_output, reasoning.',
        )
    }
  }
  return { messages, pathOf: (message) => (message === null ? 'input' : (paths[message] ?? 'input')) }
}

const callOf = ({ call_id: id, name, arguments: text }: Fields): object => ({
  id,
  type: 'function',
  function: { name, arguments: text },
})

/** The reasoning that a response contained, or a summary of it. */
function thoughtOf({ content, summary }: Fields): string {
  const texts = [content, summary].map((parts) =>
    (Array.isArray(parts) ? parts : [])
      .map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
      .join('\n\n'),
  )
  return texts.find((text) => text !== '') ?? ''
}

function contentOf(content: unknown, path: string): unknown {
  if (!Array.isArray(content)) return content
  if (content.length === 0) return ''
  return content.map((part, index) => partOf(part, `${path}[${index}]`))
}

function partOf(part: unknown, path: string): object {
  if (!isObject(part)) throw invalid(path, 'Each content part must be an object with a `type`.')
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text }
    case 'refusal':
      return { type: 'refusal', refusal: part.refusal }
    case 'input_image':
      if (part.image_url == null) throw noFileIds(`${path}.image_url`)
      return { type: 'image_url', image_url: { url: part.image_url, detail: part.detail } }
    case 'input_file': {
      const data = part.file_data ?? part.file_url
      if (data == null) throw noFileIds(`${path}.file_data`)
      return { type: 'file', file: { file_data: data, filename: part.filename } }
    }
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio }
    default:
      throw invalid(
        `${path}.type`,
        'The `type` of a content part must be one of input_text, input_image, input_file, input_audio, output_text, refusal.',
      )
  }
}

const noFileIds = (path: string) =>
  invalid(path, 'Send the data itself or its address; ids of files are not known here.')

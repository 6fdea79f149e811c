import { type Fields, isObject } from '../json/json-object.ts'
import { invalid } from '../kernel/errors.ts'
import type { KeptReasoning } from './completion.ts'
import type { FunctionNaming } from './function-names.ts'
import { isHostedItem } from './hosted-events.ts'

/** A message in the format of the extended chat request, before validation. */
interface Message {
  role: unknown
  content: unknown
  name?: unknown
  tool_call_id?: unknown
  tool_calls?: unknown[]
  reasoning?: string
  reasoning_details?: object[]
}

export interface InputItems {
  messages: Message[]
  /** The path of a message's source, by its index; null: unknown. */
  pathOf: (message: number | null) => string
  /** The items that were left out, as `path (type)`. */
  ignored: string[]
  /** The same for items of tools of a platform, which are no part of the messages. */
  hosted: string[]
  /** The completion is a summary of the messages. */
  compacts: boolean
}

/** What the items of a response may refer to. */
export interface InputContext {
  /** Items of the responses that this one continues, in order. */
  history: readonly unknown[]
  /** The reasoning or summary in `encrypted_content`; null if it cannot be opened for this account. */
  openReasoning: (encrypted: string) => KeptReasoning | null
}

const SUMMARIZE =
  'Summarize this conversation, so that it can be continued from your summary and the messages of the user alone. State ' +
  'the goals and requirements, the decisions and their reasons, what was done and found (files, names, commands, values, ' +
  'errors), and what remains to be done. Answer with the summary only, and call no tool.'
const SUMMARIZED =
  'Summary of the conversation before this message, whose answers and tool results were removed:'

/**
 * Converts the input of a response to messages. Reasoning and function calls belong to the assistant's turn that
 * contains them. Throws ApiError `invalid_request` for items and parts of other kinds.
 */
export function readInput(
  { input, instructions }: { input: string | unknown[]; instructions?: string | null },
  { history, openReasoning }: InputContext,
  functionName: FunctionNaming,
): InputItems {
  const messages: Message[] = []
  const paths: string[] = []
  const ignored: string[] = []
  const hosted: string[] = []
  let thought = ''
  /** What its maker signed of it, sealed. */
  let details: object[] = []
  let compacts = false
  /** Images and files of results, which follow all results of their turn, because a tool message has only text. */
  let media: object[] = []
  const addMedia = (path: string): void => {
    if (media.length === 0) return
    const content = media
    media = []
    add(path, { role: 'user', content })
  }
  const think = (message: Message): void => {
    if (thought !== '') message.reasoning = thought
    if (details.length > 0) message.reasoning_details = [...(message.reasoning_details ?? []), ...details]
    thought = ''
    details = []
  }
  const add = (path: string, message: Message): void => {
    if (message.role !== 'tool') addMedia(path)
    const last = messages.at(-1)
    if (message.role === 'assistant') think(message)
    // It may follow the calls that it is of.
    else if (message.role === 'tool' && last?.tool_calls) think(last)
    thought = ''
    details = []
    paths.push(path)
    messages.push(message)
  }
  const addCall = (path: string, item: Fields, text: unknown): void => {
    const call = {
      id: item.call_id,
      type: 'function',
      function: { name: functionName(item), arguments: text },
    }
    const last = messages.at(-1)
    if (last?.role !== 'assistant') return add(path, { role: 'assistant', content: null, tool_calls: [call] })
    last.tool_calls ??= []
    last.tool_calls.push(call)
    think(last)
  }
  /** What is before holds no answers and results. */
  let compactedTo = 0
  const removeAnswers = (): void => {
    let to = compactedTo
    for (let from = compactedTo; from < messages.length; from++) {
      const { role } = messages[from]!
      if (role === 'assistant' || role === 'tool') continue
      messages[to] = messages[from]!
      paths[to++] = paths[from]!
    }
    messages.length = paths.length = compactedTo = to
    media = []
  }
  const addItem = (item: unknown, path: string): void => {
    if (!isObject(item)) throw invalid(path, 'Each item of `input` must be an object.')
    switch (item.type ?? 'message') {
      case 'message':
        return add(path, { role: item.role, content: contentOf(item.content, `${path}.content`) })
      case 'function_call':
        return addCall(path, item, item.arguments)
      case 'custom_tool_call':
        return addCall(path, item, customArguments(item.input, `${path}.input`))
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const content = contentOf(item.output, `${path}.output`)
        const isText = (part: Fields) => part.type === 'text'
        const others = Array.isArray(content) ? content.filter((part) => !isText(part)) : []
        if (others.length === 0) return add(path, { role: 'tool', tool_call_id: item.call_id, content })
        const texts = (content as Fields[]).filter(isText)
        add(path, { role: 'tool', tool_call_id: item.call_id, content: texts.length > 0 ? texts : '' })
        media.push({ type: 'text', text: `Content of the tool result ${item.call_id}:` }, ...others)
        return
      }
      case 'reasoning': {
        const encrypted = item.encrypted_content ?? item.sealed_reasoning
        if (typeof encrypted === 'string') {
          const opened = openReasoning(encrypted)
          if (opened && opened.signed.length > 0) details.push({ data: encrypted })
          thought = opened?.text ?? textOf(item)
          if (opened === null && thought === '') ignored.push(`${path}.encrypted_content`)
        } else thought = textOf(item)
        return
      }
      case 'compaction':
      case 'compaction_summary': {
        const summary = openReasoning(String(item.encrypted_content))
        if (summary === null) return void ignored.push(`${path}.encrypted_content`)
        removeAnswers()
        return add(path, { role: 'user', content: `${SUMMARIZED}\n\n${summary.text}` })
      }
      case 'compaction_trigger':
        // Those of earlier turns have had their summary.
        compacts = item === input.at(-1)
        return compacts ? add(path, { role: 'user', content: SUMMARIZE }) : undefined
      case 'additional_tools':
        // Read with the tools of the request.
        return
      case 'item_reference':
        throw invalid(`${path}.id`, 'No stored response has an item with this id. Send the item itself.')
      default:
        if (isHostedItem(item)) hosted.push(`${path} (${item.type})`)
        else
          throw invalid(
            `${path}.type`,
            'The `type` of an item must be one of message, function_call, function_call_output, custom_tool_call, custom_tool_call_output, reasoning, compaction, compaction_trigger, item_reference.',
          )
    }
  }
  if (instructions) add('instructions', { role: 'system', content: instructions })
  for (const item of history) addItem(item, 'previous_response_id')
  if (typeof input === 'string') add('input', { role: 'user', content: input })
  else for (const [index, item] of input.entries()) addItem(item, `input[${index}]`)
  addMedia('input')
  return {
    messages,
    pathOf: (message) => (message === null ? 'input' : (paths[message] ?? 'input')),
    ignored,
    hosted,
    compacts,
  }
}

/** The arguments of the function that a custom tool is offered as (see responses-tools.ts). */
function customArguments(input: unknown, path: string): string {
  if (typeof input !== 'string') throw invalid(path, 'The `input` of a custom tool call is text.')
  return JSON.stringify({ input })
}

/** The reasoning that a response contained, or a summary of it. */
function textOf({ content, summary }: Fields): string {
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

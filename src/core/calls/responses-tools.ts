import { type Fields, isObject } from '../json/json-object.ts'
import { invalid } from '../kernel/errors.ts'
import { MAX_TOOLS } from './chat-request.ts'
import { type FunctionNaming, functionNaming } from './function-names.ts'
import { type HostedTool, isSendable } from './hosted-tools.ts'
import { FUNCTION } from './read-members.ts'
import { pick } from './responses-items.ts'

export interface DeclaredTool {
  namespace?: string
  name: string
  /** Calls of it are returned as `custom_tool_call`. */
  isCustom: boolean
}

/** The tools of a response as tools of a chat request. */
export interface ResponsesTools {
  tools: object[] | undefined
  choice: unknown
  /** The tools as the client declares them, by the names of the functions that they are offered as. */
  declared: ReadonlyMap<string, DeclaredTool>
  functionName: FunctionNaming
  /** What was left out, as `path (type)`. */
  ignored: string[]
  /** The tools of a platform that a provider of this wire may get. */
  hosted: HostedTool[]
  /** The path of a tool in the body, by its index in `tools`. */
  pathOf: (index: number) => string
}

/** Tools of one developer's platform. Models that are asked over another wire have none of them. */
const PLATFORM_TOOLS = [
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use_preview',
  'file_search',
  'image_generation',
  'local_shell',
  'mcp',
  'shell',
  'tool_search',
  'web_search',
  'web_search_preview',
]
/** They also have versions with a date in their name. */
const isPlatformTool = (type: unknown): type is string =>
  typeof type === 'string' && PLATFORM_TOOLS.includes(type.replace(/_\d{4}(_\d\d){2}$/, ''))

/**
 * Converts tools and their choice. A custom tool is offered as a function of one text, with its grammar in the
 * description; the grammar is not enforced. The tools of a namespace are offered under joined names. Tools of a platform are
 * no functions, and the choice may name none. Throws ApiError `invalid_request`.
 */
export function readTools(given: readonly Fields[] | null | undefined, choice: unknown): ResponsesTools {
  const declared = new Map<string, DeclaredTool>()
  const ignored: string[] = []
  const hosted: HostedTool[] = []
  const paths: string[] = []
  const tools: object[] = []
  const all = (given ?? []).flatMap((tool, index) => placed(tool, `tools[${index}]`))
  const functionName = functionNaming(
    all.flatMap(({ within, tool }) => (within.namespace === undefined ? [tool.name] : [])),
  )
  const isPicked = isObject(choice) && choice.type === 'allowed_tools'
  const isAllowed = allowedBy(choice, functionName)
  for (const { path, within, tool } of all) {
    // The chat request refuses more.
    if (tools.length > MAX_TOOLS) break
    const { type, ...definition } = tool
    if (isPlatformTool(type)) {
      const name = `${path} (${type})`
      // A choice among tools is one among the client's own.
      if (isSendable(tool) && !isPicked) hosted.push({ name, tool })
      else ignored.push(name)
      continue
    }
    if (type !== 'function' && type !== 'custom')
      throw invalid(`${path}.type`, 'The `type` of a tool must be function or custom.')
    const name = functionName({ ...within, name: definition.name })
    if (!isAllowed(name, within.namespace)) continue
    paths.push(path)
    declared.set(String(name), { ...within, name: String(definition.name), isCustom: type === 'custom' })
    if (type === 'function') tools.push({ type, function: pick({ ...definition, name }, FUNCTION) })
    else {
      const grammar = grammarOf(definition.format, `${path}.format`)
      if (grammar) ignored.push(`${path}.format`)
      tools.push({ type: 'function', function: customFunction({ ...definition, name }, grammar) })
    }
  }
  return {
    tools: given ? tools : undefined,
    choice: toChoice(choice, functionName),
    declared,
    functionName,
    ignored,
    hosted,
    pathOf: (index) => paths[index] ?? 'tools',
  }
}

/** The tools that items of an input add. */
export const addedTools = (input: string | readonly unknown[]): Fields[] =>
  typeof input === 'string'
    ? []
    : input.flatMap((item) =>
        isObject(item) && item.type === 'additional_tools' && Array.isArray(item.tools)
          ? item.tools.filter(isObject)
          : [],
      )

interface PlacedTool {
  path: string
  within: { namespace?: string }
  tool: Fields
}

/** A tool, or those of a namespace, whose description is put before that of the first. */
function placed(tool: Fields, path: string): PlacedTool[] {
  if (tool.type !== 'namespace') return [{ path, within: {}, tool }]
  const { name: namespace, description, tools } = tool
  if (typeof namespace !== 'string' || namespace === '')
    throw invalid(`${path}.name`, 'A namespace has a `name`.')
  if (!Array.isArray(tools)) throw invalid(`${path}.tools`, '`tools` of a namespace must be an array.')
  return tools.map((inner: unknown, index) => {
    const innerPath = `${path}.tools[${index}]`
    if (!isObject(inner)) throw invalid(innerPath, 'Each tool of a namespace must be an object.')
    const isIntroduced = index === 0 && typeof description === 'string' && description !== ''
    return {
      path: innerPath,
      within: { namespace },
      tool: isIntroduced ? introduced(inner, description) : inner,
    }
  })
}

function introduced(tool: Fields, about: string): Fields {
  const { description: own } = tool
  return { ...tool, description: typeof own === 'string' ? `${about}\n\n${own}` : (own ?? about) }
}

interface Grammar {
  syntax: unknown
  definition: string
}

function grammarOf(format: unknown, path: string): Grammar | null {
  if (format == null || (isObject(format) && format.type === 'text')) return null
  if (isObject(format) && format.type === 'grammar' && typeof format.definition === 'string')
    return { syntax: format.syntax, definition: format.definition }
  throw invalid(
    path,
    'The `format` of a custom tool is {"type": "text"}, or a grammar with its `definition`.',
  )
}

function customFunction({ name, description }: Fields, grammar: Grammar | null): object {
  const lines = [
    ...(typeof description === 'string' ? [description] : []),
    ...(grammar ? [`\`input\` must match this ${grammar.syntax} grammar:\n${grammar.definition}`] : []),
  ]
  return {
    name,
    ...(lines.length > 0 && { description: lines.join('\n\n') }),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text' } },
      required: ['input'],
      additionalProperties: false,
    },
  }
}

/** The input in the arguments of such a function; other arguments, such as those of a call that was cut off, unchanged. */
export function customInput(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text)
    if (isObject(parsed) && typeof parsed.input === 'string') return parsed.input
  } catch {
    // It is not JSON: the text is all there is.
  }
  return text
}

function toChoice(choice: unknown, functionName: FunctionNaming): unknown {
  if (!isObject(choice)) return choice
  if (choice.type === 'function' || choice.type === 'custom')
    return { type: 'function', function: { name: functionName(choice) } }
  if (choice.type === 'allowed_tools') return choice.mode ?? 'auto'
  throw invalid(
    'tool_choice',
    '`tool_choice` must be none, auto, required, allowed_tools or the tool to call.',
  )
}

/** Whether a choice has a tool offered: `allowed_tools` names functions, and namespaces as a whole. */
function allowedBy(
  choice: unknown,
  functionName: FunctionNaming,
): (name: unknown, namespace: string | undefined) => boolean {
  if (!isObject(choice) || choice.type !== 'allowed_tools') return () => true
  if (!Array.isArray(choice.tools))
    throw invalid('tool_choice.tools', '`tool_choice.tools` must be an array.')
  const names = new Set<unknown>()
  const namespaces = new Set<unknown>()
  for (const tool of choice.tools) {
    if (!isObject(tool)) names.add(tool)
    else if (tool.type === 'namespace') namespaces.add(tool.name)
    else names.add(functionName(tool))
  }
  return (name, namespace) => names.has(name) || (namespace !== undefined && namespaces.has(namespace))
}

import { isObject } from '../json/json-object.ts'
import { invalid } from '../kernel/errors.ts'

/** The tools of a response as tools of a chat request. */
export interface ResponsesTools {
  tools: object[] | undefined
  choice: unknown
  /** Names of the custom tools, whose calls are returned as `custom_tool_call`. */
  custom: ReadonlySet<string>
  /** What was left out, as `path (type)`. */
  ignored: string[]
  /** The path of a tool in the body, by its index in `tools`. */
  pathOf: (index: number) => string
}

type Fields = Record<string, unknown>

/** Tools that the platform of one developer runs. Models that are asked over another wire have none of them. */
const PLATFORM_TOOLS = [
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use_preview',
  'file_search',
  'image_generation',
  'local_shell',
  'mcp',
  'namespace',
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
 * description; the grammar is not enforced. Tools of a platform are left out unless the choice names one. Throws
 * ApiError `invalid_request`.
 */
export function readTools(given: readonly Fields[] | null | undefined, choice: unknown): ResponsesTools {
  const custom = new Set<string>()
  const ignored: string[] = []
  const paths: string[] = []
  const tools: object[] = []
  const allowed = isObject(choice) && choice.type === 'allowed_tools' ? allowedNames(choice) : null
  for (const [index, { type, ...definition }] of (given ?? []).entries()) {
    const path = `tools[${index}]`
    if (isPlatformTool(type)) {
      ignored.push(`${path} (${type})`)
      continue
    }
    if (type !== 'function' && type !== 'custom')
      throw invalid(`${path}.type`, 'The `type` of a tool must be function or custom.')
    if (allowed && !allowed.has(String(definition.name))) continue
    paths.push(path)
    if (type === 'function') tools.push({ type, function: definition })
    else {
      custom.add(String(definition.name))
      const grammar = grammarOf(definition.format, `${path}.format`)
      if (grammar) ignored.push(`${path}.format`)
      tools.push({ type: 'function', function: customFunction(definition, grammar) })
    }
  }
  return {
    tools: given ? tools : undefined,
    choice: toChoice(choice),
    custom,
    ignored,
    pathOf: (index) => paths[index] ?? 'tools',
  }
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

function toChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice
  if (choice.type === 'function' || choice.type === 'custom')
    return { type: 'function', function: { name: choice.name } }
  if (choice.type === 'allowed_tools') return choice.mode ?? 'auto'
  throw invalid(
    'tool_choice',
    '`tool_choice` must be none, auto, required, allowed_tools or the tool to call.',
  )
}

function allowedNames({ tools }: Fields): Set<string> {
  if (!Array.isArray(tools)) throw invalid('tool_choice.tools', '`tool_choice.tools` must be an array.')
  return new Set(tools.map((tool) => String(isObject(tool) ? tool.name : tool)))
}

import { type Fields, isObject } from '../json/json-object.ts'
import type { NativeRequest } from './messages-wire.ts'

/**
 * Tools that the maker of the messages wire defines: a request names them by a type with a date, and their provider describes
 * them to the model. Other wires have no such tools.
 */

/** What a provider adds to a prompt for each tool, rounded up from what its maker publishes, or from what was seen. */
const TOKENS_OF = {
  // Run by the client. Published: 245, 700, and 735 with 499 around it; a memory was seen to add about 1,300.
  bash: 500,
  text_editor: 1_000,
  computer: 1_500,
  memory: 2_500,
  // Run by the provider, among the tools of the request.
  tool_search_tool_bm25: 1_500,
  tool_search_tool_regex: 1_500,
  // Run by the provider elsewhere: their results may fill the window.
  web_search: 0,
  web_fetch: 0,
  code_execution: 0,
} as const

export type MakersTool = keyof typeof TOKENS_OF

const TYPE = new RegExp(`^(${Object.keys(TOKENS_OF).join('|')})(?:_\\d{8})?$`)

/** The tool that a type names, without its date; null for one that is not known, whose cost could not be held. */
export const makersTool = (type: unknown): MakersTool | null =>
  typeof type === 'string' ? ((TYPE.exec(type)?.[1] as MakersTool | undefined) ?? null) : null

/** A tool that the client defines itself, with a schema. */
export const isOwnTool = ({ type }: Fields): boolean => type == null || type === 'custom'

export const isSearch = (tool: MakersTool): boolean => tool.startsWith('tool_search')

/** Whether a target of another wire can do without a tool: it gets all tools at once, and needs to search for none. */
export const isDispensable = (type: string): boolean => {
  const tool = makersTool(type)
  return tool !== null && isSearch(tool)
}

export const toolsOf = ({ tools }: NativeRequest): readonly Fields[] => (tools ?? []) as readonly Fields[]

/**
 * The tools that the client defines and runs, as a target of another wire gets them: those whose loading is deferred once
 * they were found or called, if a tool of the client searches for them: others do not search as the provider would.
 */
export function declaredTools(request: NativeRequest): Fields[] {
  const own = toolsOf(request).filter(isOwnTool)
  const isLater = ({ defer_loading: isDeferred }: Fields) => isDeferred === true
  const isSearched = own.some(isLater) && !own.every(isLater) && !makersTypes(request).some(isDispensable)
  if (!isSearched) return own
  const found = new Set<unknown>()
  for (const { content } of request.messages as Fields[])
    for (const block of Array.isArray(content) ? (content as Fields[]) : [])
      for (const name of block.type === 'tool_use' ? [block.name] : referredTools(block)) found.add(name)
  return own.filter((tool) => !isLater(tool) || found.has(tool.name))
}

export const makersTypes = (request: NativeRequest): string[] =>
  toolsOf(request).flatMap((tool) => (isOwnTool(tool) ? [] : String(tool.type)))

/** A request without the tools of these types, and without its service tier if that is among them. */
export function withoutTools(whole: NativeRequest, types: readonly string[]): NativeRequest {
  const { service_tier: _, ...untiered } = whole
  const request = types.includes('service_tier') ? untiered : whole
  return toolsOf(request).some(({ type }) => types.includes(String(type)))
    ? { ...request, tools: toolsOf(request).filter(({ type }) => !types.includes(String(type))) }
    : request
}

/** An upper bound of what providers add to a prompt for the tools of the maker. */
export const makersTokens = (types: readonly string[]): number =>
  types.reduce((sum, type) => sum + TOKENS_OF[makersTool(type)!], 0)

/** The definition of a tool that a turn of the system brings along; null if it only names a tool of the request. */
export function addedTool({ type, tool }: Fields): Fields | null {
  const isNew = type === 'tool_addition' && isObject(tool) && tool.type === 'tool_definition'
  return isNew && isObject(tool.definition) ? tool.definition : null
}

/** The names of the tools that a block makes known to the model. */
export function referredTools({ type, tool, content }: Fields): unknown[] {
  if (type === 'tool_addition') return isObject(tool) ? [tool.name] : []
  const found = isObject(content) ? content.tool_references : content
  return Array.isArray(found)
    ? found.flatMap((part) => (isObject(part) && part.type === 'tool_reference' ? [part.tool_name] : []))
    : []
}

/** Whether a block makes a tool known or unknown to the model from there on. */
export const changesTools = ({ type }: Fields): boolean => type === 'tool_addition' || type === 'tool_removal'

/** The blocks with results of tools that the provider ran. */
export const PROVIDER_RESULTS = [
  'tool_search_tool_result',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
] as const

/** What a result of a tool that the provider ran says as text, from its fields with these names. */
const SAID = ['title', 'url', 'text', 'stdout', 'stderr', 'tool_name', 'error_code', 'data']

export function textsOfResult(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOfResult)
  if (!isObject(value) || value.type === 'base64') return []
  return Object.entries(value).flatMap(([name, part]) => {
    if (typeof part !== 'string') return textsOfResult(part)
    return part !== '' && SAID.includes(name) ? part : []
  })
}

import type { Model, Offer, UseKind } from '../catalog/catalog.ts'
import { type Fields, isObject } from '../json/json-object.ts'
import type { KeptReasoning } from './completion.ts'
import type { FunctionNaming } from './function-names.ts'
import { isHostedItem } from './hosted-events.ts'
import type { ProviderTools } from './provider-tools.ts'

/**
 * What the maker of the responses wire does for a call beside its completion. Only providers of that wire get it; the
 * others serve the call without, and the response says so.
 */

/** The wire whose providers take hosted tools. */
export const HOSTED_WIRE = 'responses'

/**
 * The tools that are sent, with the price of a use; null: a use costs only tokens, or the client runs the tool. Not sent
 * are tools that read what our keys have stored at the maker (`file_search`), or whose use has no price here
 * (`image_generation`, a hosted `shell`).
 */
const HOSTED = new Map<string, UseKind | null>([
  ['web_search', 'webSearch'],
  ['web_search_preview', 'webSearch'],
  ['code_interpreter', 'codeExecution'],
  ['mcp', null],
  ['tool_search', null],
  ['computer', null],
  ['computer_use_preview', null],
  ['local_shell', null],
  ['apply_patch', null],
])

/** Those that the provider runs: their results become prompt. */
const RUN_BY_PROVIDER = ['web_search', 'web_search_preview', 'code_interpreter', 'mcp', 'tool_search']

/** A type without its date. */
const undated = (type: unknown): string => String(type).replace(/_\d{4}(_\d\d){2}$/, '')

export interface HostedTool {
  /** Its path and type, as `x-ignored-parameters` names it where it is left out. */
  name: string
  tool: Fields
}

/** What of a request only a provider of the responses wire gets. */
export interface HostedRequest {
  tools: readonly HostedTool[]
  /** What is included in the response, as far as it is of these tools. */
  include: readonly string[]
  /** The whole input, because it has items of such tools; absent: it has none, and the messages say it all. */
  input?: readonly Fields[]
  /** The names of these items, as those of tools. */
  itemNames: readonly string[]
}

const NAME = /^(?:tools|input)\S* \((\w+)\)$/
/** Whether a parameter of a call is a hosted tool, or an item of one. */
export const isHosted = (parameter: string): boolean => NAME.test(parameter)

/** Whether an offer gets a hosted tool, or an item of one: what has a price is charged, at no loss. */
export function takesHosted(
  { provider, lossUses = [] }: Pick<Offer, 'provider' | 'lossUses'>,
  { rate }: Pick<Model, 'rate'>,
  parameter: string,
): boolean {
  if (provider.wire !== HOSTED_WIRE) return false
  if (!parameter.startsWith('tools')) return true
  const use = HOSTED.get(undated(NAME.exec(parameter)?.[1]))
  if (use === undefined) return false
  if (use === null) return true
  return provider.quirks?.maxToolUses !== 0 && rate[use] !== undefined && !lossUses.includes(use)
}

/** Whether a tool of the request may be sent to a provider at all: its container holds nothing of other calls. */
export function isSendable({ type, container }: Fields): boolean {
  if (!HOSTED.has(undated(type))) return false
  if (undated(type) !== 'code_interpreter') return true
  return isObject(container) && container.type === 'auto' && !('file_ids' in container)
}

/** A request without the tools of these names. */
export const withoutHosted = (hosted: HostedRequest, names: readonly string[]): HostedRequest => ({
  ...hosted,
  tools: hosted.tools.filter(({ name }) => !names.includes(name)),
})

/** What a provider may do for a call at an offer; undefined: nothing that is not in the prompt. */
export const hostedToolsAt =
  ({ tools }: HostedRequest) =>
  (offer: Offer, model: Model): ProviderTools | undefined => {
    const taken = tools.flatMap(({ name, tool }) =>
      takesHosted(offer, model, name) ? undated(tool.type) : [],
    )
    if (!taken.some((type) => RUN_BY_PROVIDER.includes(type))) return undefined
    return {
      webSearches: taken.some((type) => HOSTED.get(type) === 'webSearch') ? [null] : [],
      codeExecutions: taken.includes('code_interpreter') ? 1 : 0,
      fillsWindow: taken.some((type) => type !== 'tool_search' && RUN_BY_PROVIDER.includes(type)),
    }
  }

/** An upper bound of the prompt's tokens that are not in its messages: one a byte. */
export const hostedTokens = ({ tools, input = [] }: HostedRequest): number =>
  Buffer.byteLength(JSON.stringify([tools.map(({ tool }) => tool), input.filter(isHostedItem)]))

/** Reasoning of an input, opened: what makers signed of it. */
interface OpenedReasoning {
  type: 'reasoning'
  signed: KeptReasoning['signed']
}

export const isOpened = (item: Fields): item is Fields & OpenedReasoning =>
  item.type === 'reasoning' && Array.isArray(item.signed)

/**
 * The items of an input as a provider of the wire gets them: own tools under the names that they are declared with, and
 * reasoning opened. Null where they cannot be sent so: a summary replaces what was before it.
 */
export function hostedInput(
  items: readonly Fields[],
  functionName: FunctionNaming,
  open: (encrypted: string) => KeptReasoning | null,
): Fields[] | null {
  const sent: Fields[] = []
  for (const item of items) {
    const { type = 'message', call_id } = item
    switch (type) {
      case 'message':
        sent.push({ type, role: item.role, content: item.content })
        break
      case 'function_call':
        sent.push({ type, call_id, name: functionName(item), arguments: item.arguments })
        break
      case 'custom_tool_call': {
        const json = JSON.stringify({ input: item.input })
        sent.push({ type: 'function_call', call_id, name: functionName(item), arguments: json })
        break
      }
      case 'function_call_output':
      case 'custom_tool_call_output':
        sent.push({ type: 'function_call_output', call_id, output: item.output })
        break
      case 'reasoning': {
        const opened = typeof item.encrypted_content === 'string' ? open(item.encrypted_content) : null
        if (opened && opened.signed.length > 0) sent.push({ type, signed: opened.signed })
        break
      }
      case 'compaction':
      case 'compaction_summary':
      case 'compaction_trigger':
        return null
      default:
        if (isHostedItem(item)) sent.push(item)
    }
  }
  return sent
}

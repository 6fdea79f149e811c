import type { Model, Offer, Provider, ProviderQuirks, UseKind } from '../catalog/catalog.ts'
import type { Fields } from '../json/json-object.ts'
import { isSearch, type MakersTool, makersTool, toolsOf } from './makers-tools.ts'
import { NATIVE_WIRE, type NativeRequest } from './messages-wire.ts'

/** The tools of the maker that the provider runs itself: what they may use of it, and whether an offer gets them. */

/** The price of a use of a tool that the provider runs elsewhere; null: only its tokens have one. Others cost only tokens. */
const PRICED_USES: Partial<Record<MakersTool, UseKind | null>> = {
  web_search: 'webSearch',
  web_fetch: null,
  code_execution: 'codeExecution',
}

/** Whether an offer of the wire may get a tool: uses that have a price are charged, at no loss. */
export function takesTool(
  { provider, lossUses = [] }: Pick<Offer, 'provider' | 'lossUses'>,
  { rate }: Pick<Model, 'rate'>,
  tool: MakersTool,
): boolean {
  if (provider.wire !== NATIVE_WIRE) return false
  const use = PRICED_USES[tool]
  if (use === undefined) return true
  if (provider.quirks?.maxToolUses === 0) return false
  return use === null || (rate[use] !== undefined && !lossUses.includes(use))
}

/** What the provider may do for a call by tools that it runs itself. */
export interface ProviderTools {
  /** The `max_uses` of each tool that searches the web; null: not stated. */
  webSearches: ReadonlyArray<number | null>
  /** 1 if programs that it runs are charged. */
  codeExecutions: 0 | 1
  /** Results of its tools may fill the window. */
  fillsWindow: boolean
}

/** From this version on, programs are free in calls that may search the web or fetch pages. */
const CODE_IS_FREE_FROM = 20260209

/** The tools of a request that the provider runs; null: none. */
export function providerTools(request: NativeRequest): ProviderTools | null {
  const known = toolsOf(request).flatMap((tool) => {
    const name = makersTool(tool.type)
    return name !== null && (isSearch(name) || name in PRICED_USES) ? [{ name, tool }] : []
  })
  if (known.length === 0) return null
  const freesCode = ({ name, tool }: (typeof known)[number]) =>
    name.startsWith('web_') && Number(String(tool.type).slice(-8)) >= CODE_IS_FREE_FROM
  const searches = known.filter(({ name }) => name === 'web_search')
  const runsCode = known.some(({ name }) => name === 'code_execution')
  return {
    webSearches: searches.map(({ tool: { max_uses: uses } }) => (isUses(uses) ? uses : null)),
    codeExecutions: runsCode && !known.some(freesCode) ? 1 : 0,
    fillsWindow: known.some(({ name }) => !isSearch(name)),
  }
}

const isUses = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

const TOOL_USES_MAX = 10

/** The uses of its tools that a provider may bill for a call, as held for. */
export const usesAt = (
  { quirks }: Pick<Provider, 'quirks'>,
  { webSearches, codeExecutions }: ProviderTools,
) => ({
  webSearches: webSearches.reduce<number>((sum, uses) => sum + (uses ?? usesUnstated(quirks)), 0),
  codeExecutions,
})

export const usesUnstated = (quirks: ProviderQuirks = {}): number => quirks.maxToolUses ?? TOOL_USES_MAX

/** The tools with a bound on every search of the web, as held for. */
export const withBoundedUses = (
  tools: readonly Fields[],
  { quirks }: Pick<Provider, 'quirks'>,
): readonly Fields[] => {
  const isUnbounded = ({ type, max_uses: uses }: Fields) => makersTool(type) === 'web_search' && !isUses(uses)
  if (!tools.some(isUnbounded)) return tools
  return tools.map((tool) => (isUnbounded(tool) ? { ...tool, max_uses: usesUnstated(quirks) } : tool))
}

/**
 * The times that a provider counts the prompt: again after each round of its own tools, and it pauses after ten. It fills
 * the window where results come from elsewhere.
 */
export const READINGS_MAX = 11

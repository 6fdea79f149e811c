import type { ImportedProvider } from './provider-table.ts'

/** Vendors by the names that model hosts give them. */
const VENDOR_NAMES: Record<string, string> = {
  'deepseek-ai': 'deepseek',
  'zai-org': 'z-ai',
  mistral: 'mistralai',
  minimaxai: 'minimax',
}

/** Upstream names that do not follow from the model's own. */
const UPSTREAM_ALIASES: Record<string, string> = {
  'groq:llama-3.1-8b-instant': 'meta-llama/llama-3.1-8b-instruct',
  'groq:llama-3.3-70b-versatile': 'meta-llama/llama-3.3-70b-instruct',
  'cerebras:gpt-oss-120b': 'openai/gpt-oss-120b',
  'cerebras:gemma-4-31b': 'google/gemma-4-31b-it',
}

/**
 * `<vendor>/<model>` in lowercase for a provider's own name of a model, so that the offers of one model meet;
 * null when the vendor cannot be told.
 */
export function canonicalId({ provider, maker }: ImportedProvider, upstreamModel: string): string | null {
  const alias = UPSTREAM_ALIASES[`${provider.id}:${upstreamModel}`]
  if (alias) return alias
  const name = upstreamModel.toLowerCase()
  // Version numbers: `claude-opus-4-5` at its maker is `claude-opus-4.5` elsewhere.
  if (maker === 'anthropic') return `anthropic/${name.replace(/-(\d)-(\d{1,2})(?=-|$)/, '-$1.$2')}`
  if (maker) return `${maker}/${name}`
  const slash = name.indexOf('/')
  if (slash <= 0 || name.indexOf('/', slash + 1) > 0) return null
  const vendor = name.slice(0, slash)
  return `${VENDOR_NAMES[vendor] ?? vendor}/${name.slice(slash + 1)}`
}

/** The catalog's id of a canonical one: bare for the maker whose wire this is. */
export const catalogId = (canonical: string): string => canonical.replace(/^openai\//, '')

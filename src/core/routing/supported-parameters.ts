import type { Model, Offer, Wire } from '../catalog/catalog.ts'

/** Parameters that a wire has no field for. */
const NOT_CARRIED: Record<Wire, readonly string[]> = {
  'chat-completions': [],
  'anthropic-messages': ['seed', 'presence_penalty', 'frequency_penalty', 'logprobs', 'top_logprobs'],
  'google-generate-content': ['parallel_tool_calls'],
}

/** Parameters that listings of models seldom name, by the one they name instead. */
const IMPLIED_BY: Readonly<Record<string, string>> = {
  tool_choice: 'tools',
  parallel_tool_calls: 'tools',
  // Models with a fixed temperature reject these as well.
  stop: 'temperature',
  seed: 'temperature',
  presence_penalty: 'temperature',
  frequency_penalty: 'temperature',
  logprobs: 'temperature',
  top_logprobs: 'temperature',
}

/**
 * Whether an offer honours a parameter: its wire carries it, its provider does not reject it, and its model supports
 * it, as the catalog states or as what it states implies.
 */
export function supportsParameter(
  { provider: { wire, quirks } }: Offer,
  { supportedParameters, reasoning }: Model,
  name: string,
): boolean {
  if (NOT_CARRIED[wire].includes(name)) return false
  if (quirks?.omit?.some((field) => field === name)) return false
  if (supportedParameters.includes(name)) return true
  if (name === 'reasoning_effort') return reasoning
  // On the other wires it is a rule of the server.
  if (name === 'stop' && wire !== 'chat-completions') return true
  const implying = Object.hasOwn(IMPLIED_BY, name) ? IMPLIED_BY[name] : undefined
  return implying !== undefined && supportedParameters.includes(implying)
}

import { isHosted, takesHosted } from '../calls/hosted-tools.ts'
import { makersTool } from '../calls/makers-tools.ts'
import { HOUR_IN_CACHE } from '../calls/messages-content.ts'
import { NATIVE_WIRE } from '../calls/messages-wire.ts'
import type { PassedField } from '../calls/passed-fields.ts'
import { takesTool } from '../calls/provider-tools.ts'
import type { Model, Offer, Provider, Wire } from '../catalog/catalog.ts'

/** Parameters for which a wire has no field. */
const NOT_CARRIED: Record<Wire, readonly string[]> = {
  'chat-completions': [],
  'anthropic-messages': ['seed', 'presence_penalty', 'frequency_penalty', 'logprobs', 'top_logprobs'],
  'google-generate-content': ['parallel_tool_calls'],
  responses: ['stop', 'seed', 'presence_penalty', 'frequency_penalty'],
  'bedrock-converse': [
    'seed',
    'presence_penalty',
    'frequency_penalty',
    'logprobs',
    'top_logprobs',
    'parallel_tool_calls',
  ],
}

/** The least completion limit that a provider takes. A lower one is raised to it, in the hold as in the request. */
export const leastLimit = ({ wire }: Pick<Provider, 'wire'>): number => (wire === 'responses' ? 16 : 1)

/**
 * Parameters that steer a completion without changing what it means. A model that does not support one serves the call
 * without it, unless the request requires all parameters.
 */
const HINTS: ReadonlySet<string> = new Set([
  'temperature',
  'top_p',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'reasoning_effort',
  HOUR_IN_CACHE,
])

/** Whether the catalog decides which offers get a part of a request, whatever wire they speak: by its price. */
export const isPriced = (name: string): boolean =>
  name === HOUR_IN_CACHE || makersTool(name) !== null || isHosted(name)

export const isHint = (name: string): boolean => HINTS.has(name) || isHosted(name)

const PASSING_WIRES: readonly string[] = ['chat-completions', 'responses', 'google-generate-content']

/** Whether a provider takes a field that is passed to it. */
export function takesField({ wire, quirks }: Pick<Provider, 'wire' | 'quirks'>, name: PassedField): boolean {
  if (wire === 'google-generate-content' && name !== 'service_tier') return false
  if (!PASSING_WIRES.includes(wire)) return false
  return name === 'prompt_cache_key'
    ? quirks?.omit?.includes(name) !== true
    : quirks?.passes?.includes(name) === true
}

/** Parameters that model lists rarely name, by the parameter that implies them. */
const IMPLIED_BY: Readonly<Record<string, string>> = {
  tool_choice: 'tools',
  parallel_tool_calls: 'tools',
  // Models with a fixed temperature reject these too.
  stop: 'temperature',
  seed: 'temperature',
  presence_penalty: 'temperature',
  frequency_penalty: 'temperature',
  logprobs: 'temperature',
  top_logprobs: 'temperature',
}

/**
 * Whether an offer supports a parameter: its wire has a field, its provider does not reject it, and its model supports
 * it according to the catalog, explicitly or by implication.
 */
export function supportsParameter(offer: Offer, model: Model, name: string): boolean {
  const { wire, quirks } = offer.provider
  const { supportedParameters, reasoning } = model
  if (NOT_CARRIED[wire].includes(name)) return false
  if (isHosted(name)) return takesHosted(offer, model, name)
  const tool = makersTool(name)
  if (tool !== null) return takesTool(offer, model, tool)
  if (name === HOUR_IN_CACHE)
    return wire === NATIVE_WIRE && model.rate.cacheWriteHour !== undefined && !offer.lossCache
  if (quirks?.omit?.some((field) => field === name)) return false
  if (supportedParameters.includes(name)) return true
  if (name === 'reasoning_effort') return reasoning
  // On the other wires the server implements it.
  if (name === 'stop' && wire !== 'chat-completions') return true
  const implying = Object.hasOwn(IMPLIED_BY, name) ? IMPLIED_BY[name] : undefined
  return implying !== undefined && supportedParameters.includes(implying)
}

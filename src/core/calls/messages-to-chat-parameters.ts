import { type Fields, isObject } from '../json/json-object.ts'
import type { SamplingParameters, ToolChoice } from './chat-request.ts'
import { addedTool, declaredTools } from './makers-tools.ts'
import type { NativeRequest } from './messages-wire.ts'
import { effortOfBudget, type ReasoningEffort } from './request-parameters.ts'

/**
 * The parameters of a request on the messages wire as those of an extended chat request. They also decide about models,
 * and their schemas count as part of the prompt. `top_k` has no counterpart.
 */
export function chatParameters(native: NativeRequest): SamplingParameters {
  const { temperature, top_p, service_tier: tier } = native
  const tools = [...declaredTools(native), ...addedTools(native)].map(toTool)
  const stop = stopsOf(native).slice(0, STOPS_MAX)
  const choice = tools.length > 0 && isObject(native.tool_choice) ? native.tool_choice : {}
  const toolChoice = toToolChoice(choice)
  const format = responseFormat(native)
  const effort = reasoningEffort(native)
  return {
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { top_p }),
    ...(tools.length > 0 && { tools }),
    ...(format && { response_format: format }),
    ...(toolChoice && { tool_choice: toolChoice }),
    ...(choice.disable_parallel_tool_use === true && { parallel_tool_calls: false }),
    ...(stop.length > 0 && { stop }),
    ...(effort && { reasoning_effort: effort }),
    ...(typeof tier === 'string' && { passed: { service_tier: tier } }),
  }
}

/** The most stop sequences that other wires take. */
const STOPS_MAX = 4

const stopsOf = ({ stop_sequences: stops }: NativeRequest): string[] =>
  [...new Set((stops ?? []) as string[])].filter((text) => text !== '')

/** Whether a request has more stop sequences than other wires take. */
export const stopsBeyond = (native: NativeRequest): boolean => stopsOf(native).length > STOPS_MAX

/** The tools that turns of the system bring along. */
const addedTools = ({ messages }: NativeRequest): Fields[] =>
  (messages as Fields[]).flatMap(({ role, content }) => {
    const blocks = role === 'system' && Array.isArray(content) ? (content as Fields[]) : []
    return blocks.map(addedTool).filter((tool) => tool !== null)
  })

const toTool = ({ name, description, input_schema: parameters, strict }: Fields): Fields => ({
  type: 'function',
  function: {
    name,
    ...(typeof description === 'string' && { description }),
    parameters,
    ...(typeof strict === 'boolean' && { strict }),
  },
})

/** Undefined if the model decides. */
function toToolChoice({ type, name }: Fields): ToolChoice | undefined {
  if (type === 'any') return 'required'
  if (type === 'none') return 'none'
  return type === 'tool' && typeof name === 'string' ? { type: 'function', function: { name } } : undefined
}

function responseFormat({ output_config: config, output_format: older }: NativeRequest): Fields | undefined {
  const format = (isObject(config) ? config.format : undefined) ?? older
  if (!isObject(format)) return undefined
  const { type, schema, name } = format
  if (type !== 'json_schema') return format
  return {
    type,
    json_schema: { name: typeof name === 'string' ? name : 'output', schema, strict: true },
  }
}

const EFFORTS: Readonly<Record<string, ReasoningEffort>> = {
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
}

/** Undefined if the request asks for no thinking: models that always think then decide by themselves. */
function reasoningEffort({ thinking, output_config: config }: NativeRequest): ReasoningEffort | undefined {
  const stated = isObject(config) && typeof config.effort === 'string' ? EFFORTS[config.effort] : undefined
  if (stated || !isObject(thinking)) return stated
  const { type, budget_tokens: budget } = thinking
  if (type === 'adaptive') return 'medium'
  return type === 'enabled' && typeof budget === 'number' ? effortOfBudget(budget) : undefined
}

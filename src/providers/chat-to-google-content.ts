import type { SamplingParameters } from '../core/calls/chat-request.ts'
import { type ContentPart, isAddress } from '../core/calls/content-part.ts'
import { openApiSchema, SchemaBudget } from '../core/json/openapi-schema.ts'
import { endingOf } from '../core/media/media-type.ts'
import { argumentsObject, type Conversation, type ToolResultPart, type TurnPart } from './conversation.ts'
import { functionTools, jsonSchemaOf } from './wire.ts'

/** Messages, tools and formats in the form of the generate-content wire. */

type GoogleTurn = { role: 'user' | 'model'; parts: unknown[] }

/**
 * The turns of a conversation. Function responses have a content of their own, with one response per call, in the
 * order of the calls.
 */
export function toContents(turns: Conversation['turns'], model: string): GoogleTurn[] {
  return turns.flatMap(({ role, parts }, index): GoogleTurn[] => {
    if (role === 'assistant') return [{ role: 'model', parts: toModelParts(parts, model) }]
    const calls = turns[index - 1]?.parts ?? []
    const order = new Map(calls.map((part, position) => [part.type === 'tool-use' && part.id, position]))
    const results = parts
      .filter((part) => part.type === 'tool-result')
      .sort((one, other) => order.get(one.id)! - order.get(other.id)!)
    const others = parts.filter((part) => part.type !== 'tool-result')
    return [results.map(toResponse), others.map(toPart)]
      .filter((each) => each.length > 0)
      .map((each) => ({ role: 'user', parts: each }))
  })
}

/** Models before 3, which accept calls without a thought signature. */
const TAKES_UNSIGNED = /^gemini-[12]\b/
/** Replaces a missing thought signature: not all clients return it, and another provider's call has none. */
const NO_SIGNATURE = 'skip_thought_signature_validator'

/** The first call of a turn has the signature. */
function toModelParts(parts: readonly TurnPart[], model: string): unknown[] {
  let isFirstCall = !TAKES_UNSIGNED.test(model)
  return parts.map((part) => {
    if (part.type !== 'tool-use') return toPart(part)
    const { signature = isFirstCall ? NO_SIGNATURE : undefined } = part
    isFirstCall = false
    return {
      functionCall: { name: part.name, args: argumentsObject(part.arguments) },
      thoughtSignature: signature,
    }
  })
}

const toResponse = ({ name, text }: ToolResultPart) => ({
  functionResponse: { name, response: { output: text } },
})

function toPart(part: TurnPart): unknown {
  if (part.type === 'text') return { text: part.text }
  if (part.type === 'tool-use' || part.type === 'tool-result' || part.type === 'signed')
    throw new Error(`a ${part.type} out of place`)
  const { source } = part
  return isAddress(source)
    ? { fileData: { fileUri: source.url, mimeType: mediaTypeOf(part.type, source.url) } }
    : { inlineData: { mimeType: source.mediaType, data: source.base64 } }
}

/** By the file extension in the URL, because the gateway does not fetch it. The first is the most common type. */
const MEDIA_TYPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  image: { jpeg: 'image/jpeg', png: 'image/png', webp: 'image/webp', heic: 'image/heic', heif: 'image/heif' },
  video: { mp4: 'video/mp4', webm: 'video/webm', mov: 'video/quicktime', mpeg: 'video/mpeg' },
  file: { pdf: 'application/pdf' },
}

/** Of the type for which the part's cost is held, whatever its URL says: another type may cost more. */
function mediaTypeOf(type: ContentPart['type'], url: string): string {
  const known = MEDIA_TYPES[type] ?? {}
  return known[endingOf(new URL(url))] ?? Object.values(known)[0]!
}

export function toTools({ tools }: SamplingParameters): unknown[] | undefined {
  const functions = functionTools(tools)
  if (functions.length === 0) return undefined
  const budget = new SchemaBudget()
  const functionDeclarations = functions.map(({ name, description, parameters }) => {
    const schema = openApiSchema(parameters, budget)
    // The wire refuses an object without properties; a function without arguments has no parameters.
    return { name, description, parameters: schema?.properties === undefined ? undefined : schema }
  })
  return [{ functionDeclarations }]
}

export function toToolConfig({ tool_choice: choice }: SamplingParameters): object | undefined {
  if (choice === undefined) return undefined
  if (choice === 'none') return { functionCallingConfig: { mode: 'NONE' } }
  const only = choice === 'required' ? undefined : [choice.function.name]
  return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: only } }
}

export function responseFormat(format: SamplingParameters['response_format']): object {
  if (format?.type !== 'json_object' && format?.type !== 'json_schema') return {}
  const responseSchema = openApiSchema(jsonSchemaOf(format), new SchemaBudget()) ?? undefined
  return { responseMimeType: 'application/json', responseSchema }
}

/** The wire's seeds are shorter than those of clients. Equal seeds stay equal. */
const SEEDS = 2 ** 31

/** The fields of `generationConfig` that only extended requests use. */
export const extendedConfig = (parameters: SamplingParameters): object => ({
  stopSequences: parameters.stop,
  seed: parameters.seed === undefined ? undefined : parameters.seed % SEEDS,
  presencePenalty: parameters.presence_penalty,
  frequencyPenalty: parameters.frequency_penalty,
  responseLogprobs: parameters.logprobs,
  logprobs: parameters.top_logprobs,
})

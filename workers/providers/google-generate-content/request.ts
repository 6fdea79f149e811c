import type { SamplingParameters } from '../../../src/core/chat-request.ts'
import { jsonInstruction, jsonSchemaOf } from '../json-instruction.ts'
import type { AttemptRequest } from '../provider.ts'
import { samplingFor } from '../sampling.ts'
import { functionTools } from '../tool-definitions.ts'
import { type TurnPart, toConversation } from '../turns.ts'
import { openApiSchema } from './openapi-schema.ts'

/**
 * The body of a request on the generate-content wire. Thoughts count within `maxOutputTokens`. Beside tools JSON
 * is asked for in words: most models refuse a response type together with functions.
 */
export function requestBody(request: AttemptRequest): string {
  const { offer, messages, parameters, completionLimit } = request
  const { quirks = {} } = offer.provider
  const { system, turns } = toConversation(messages)
  const { temperature, topP } = samplingFor(request)
  const omitted = new Set<string>(quirks.omit)
  const tools = omitted.has('tools') ? undefined : toTools(parameters)
  const format = omitted.has('response_format') ? undefined : parameters.response_format
  const instruction = tools ? jsonInstruction(format) : null
  if (instruction !== null) system.push(instruction)
  return JSON.stringify({
    ...quirks.fixedFields,
    systemInstruction: system.length > 0 ? { parts: [{ text: system.join('\n\n') }] } : undefined,
    contents: turns.map(({ role, parts }) => ({
      role: role === 'assistant' ? 'model' : 'user',
      parts: parts.map(toPart),
    })),
    tools,
    generationConfig: {
      candidateCount: 1,
      maxOutputTokens: completionLimit,
      temperature: omitted.has('temperature') ? undefined : temperature,
      topP: omitted.has('top_p') ? undefined : topP,
      ...(tools ? {} : responseFormat(format)),
    },
  })
}

/** The model is part of the address on this wire, and so is that the answer is streamed. */
export const requestUrl = ({ offer }: AttemptRequest): string =>
  `${offer.provider.baseUrl}/models/${encodeURIComponent(offer.upstreamModel)}:streamGenerateContent?alt=sse`

function toPart(part: TurnPart): unknown {
  switch (part.kind) {
    case 'text':
      return { text: part.text }
    case 'data':
      return { inlineData: { mimeType: part.mediaType, data: part.base64 } }
    case 'address':
      return { fileData: { fileUri: part.url, mimeType: mediaTypeOf(part.url) } }
    default:
      return part satisfies never
  }
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
  pdf: 'application/pdf',
}

/** By the ending of an address, since nobody has fetched it; most images are JPEG. */
function mediaTypeOf(url: string): string {
  const ending = /\.([a-z0-9]{2,5})(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? ''
  return MEDIA_TYPES[ending] ?? 'image/jpeg'
}

function toTools({ tools }: SamplingParameters): unknown[] | undefined {
  const functions = functionTools(tools)
  if (functions.length === 0) return undefined
  const functionDeclarations = functions.map(({ name, description, parameters }) => {
    const schema = openApiSchema(parameters)
    // An object without properties is refused; a function without arguments has no parameters.
    return { name, description, parameters: schema?.properties === undefined ? undefined : schema }
  })
  return [{ functionDeclarations }]
}

function responseFormat(format: SamplingParameters['response_format']): object {
  if (format?.type !== 'json_object' && format?.type !== 'json_schema') return {}
  const responseSchema = openApiSchema(jsonSchemaOf(format)) ?? undefined
  return { responseMimeType: 'application/json', responseSchema }
}

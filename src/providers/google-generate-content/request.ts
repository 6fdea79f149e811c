import type { SamplingParameters } from '../../core/calls/chat-request.ts'
import { type ContentPart, isAddress } from '../../core/calls/content-part.ts'
import { openApiSchema, SchemaBudget } from '../../core/json/openapi-schema.ts'
import { endingOf } from '../../core/media/media-type.ts'
import type { AttemptRequest } from '../provider.ts'
import { functionTools, jsonInstruction, jsonSchemaOf, samplingFor } from '../request-parts.ts'
import { toConversation } from '../turns.ts'

/**
 * The body of a request on the generate-content wire. Thoughts count within `maxOutputTokens`. Beside tools JSON
 * is asked for in words: most models refuse a response type together with functions. Schemas that grow too large
 * are refused before a call is admitted (`tooLargeSchema`).
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

function toPart(part: ContentPart): unknown {
  if (part.type === 'text') return { text: part.text }
  const { source } = part
  return isAddress(source)
    ? { fileData: { fileUri: source.url, mimeType: mediaTypeOf(part.type, source.url) } }
    : { inlineData: { mimeType: source.mediaType, data: source.base64 } }
}

/** By the ending of an address, since nobody has fetched it; the first is what most are. */
const MEDIA_TYPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  image: { jpeg: 'image/jpeg', png: 'image/png', webp: 'image/webp', heic: 'image/heic', heif: 'image/heif' },
  video: { mp4: 'video/mp4', webm: 'video/webm', mov: 'video/quicktime', mpeg: 'video/mpeg' },
  file: { pdf: 'application/pdf' },
}

/** Of the kind that the part was held for, whatever its address says: another kind may cost more. */
function mediaTypeOf(type: ContentPart['type'], url: string): string {
  const known = MEDIA_TYPES[type] ?? {}
  return known[endingOf(new URL(url))] ?? Object.values(known)[0]!
}

function toTools({ tools }: SamplingParameters): unknown[] | undefined {
  const functions = functionTools(tools)
  if (functions.length === 0) return undefined
  const budget = new SchemaBudget()
  const functionDeclarations = functions.map(({ name, description, parameters }) => {
    const schema = openApiSchema(parameters, budget)
    // An object without properties is refused; a function without arguments has no parameters.
    return { name, description, parameters: schema?.properties === undefined ? undefined : schema }
  })
  return [{ functionDeclarations }]
}

function responseFormat(format: SamplingParameters['response_format']): object {
  if (format?.type !== 'json_object' && format?.type !== 'json_schema') return {}
  const responseSchema = openApiSchema(jsonSchemaOf(format), new SchemaBudget()) ?? undefined
  return { responseMimeType: 'application/json', responseSchema }
}

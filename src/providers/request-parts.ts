import type { Provider, ProviderQuirks, SamplingParameter } from '../core/catalog/catalog.ts'
import type { AttemptRequest } from './provider.ts'
import { isObject } from './response-parts.ts'

/**
 * Header names and values in turn, as every wire sends them.
 * @param authHeader where the wire has the key, unless the provider wants it elsewhere
 * @param apiKey null where the provider needs none
 */
export function requestHeaders(
  { quirks }: Provider,
  apiKey: string | null,
  authHeader: NonNullable<ProviderQuirks['authHeader']>,
): string[] {
  const headers = [
    'content-type',
    'application/json',
    'accept',
    'text/event-stream, application/json',
    // A compressed stream is held back by the compressor; tokens should come as they are made.
    'accept-encoding',
    'identity',
  ]
  for (const [name, value] of Object.entries(quirks?.headers ?? {})) headers.push(name, value)
  if (apiKey === null) return headers
  const name = quirks?.authHeader ?? authHeader
  headers.push(name, name === 'authorization' ? `Bearer ${apiKey}` : apiKey)
  return headers
}

/**
 * The sampling parameters as model and provider take them: none that the model refuses, within the provider's
 * range, and one of them where it takes one.
 * @param wire how every provider of the wire differs, unless it says otherwise
 */
export function samplingFor(
  { offer, parameters }: AttemptRequest,
  wire: ProviderQuirks = {},
): { temperature: number | undefined; topP: number | undefined } {
  const { temperatureMax = Number.POSITIVE_INFINITY, oneSamplingParameter } = {
    ...wire,
    ...offer.provider.quirks,
  }
  const given = (name: SamplingParameter) =>
    offer.refusedSampling?.includes(name) ? undefined : parameters[name]
  const temperature = given('temperature')
  return {
    temperature: temperature === undefined ? undefined : Math.min(temperature, temperatureMax),
    topP: oneSamplingParameter && temperature !== undefined ? undefined : given('top_p'),
  }
}

export interface FunctionTool {
  name: string
  description: string | undefined
  /** JSON Schema of the arguments; null where the function takes none. */
  parameters: Record<string, unknown> | null
}

/** The functions among a request's tools. */
export function functionTools(tools: ReadonlyArray<Record<string, unknown>> | undefined): FunctionTool[] {
  return (tools ?? []).flatMap((tool) => {
    const definition = tool.function
    if (!isObject(definition) || typeof definition.name !== 'string') return []
    const { name, description, parameters } = definition
    return [
      {
        name,
        description: typeof description === 'string' ? description : undefined,
        parameters: isObject(parameters) ? parameters : null,
      },
    ]
  })
}

/**
 * Asks for JSON in words, for providers that have no field for it, or none for a schema.
 * @param responseFormat the request's `response_format`; null for one that asks for plain text
 */
export function jsonInstruction(responseFormat: Record<string, unknown> | undefined): string | null {
  if (responseFormat?.type !== 'json_object' && responseFormat?.type !== 'json_schema') return null
  const schema = jsonSchemaOf(responseFormat)
  const asked = 'Answer with one JSON value and nothing else: no explanation, no code fence.'
  return schema === undefined ? asked : `${asked} It must fit this JSON Schema: ${JSON.stringify(schema)}`
}

/** The schema that a `response_format` holds, or undefined. */
export function jsonSchemaOf(responseFormat: Record<string, unknown>): unknown {
  const { json_schema: named } = responseFormat
  return typeof named === 'object' && named !== null && 'schema' in named ? named.schema : undefined
}

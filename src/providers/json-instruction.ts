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

/** A JSON schema as far as the reference shows it. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  /** Of a text that is JSON. */
  contentSchema?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
}

interface Content {
  content?: Record<string, { schema?: Schema }>
}

interface OperationObject {
  operationId?: string
  tags?: string[]
  summary?: string
  description?: string
  deprecated?: boolean
  parameters?: Array<{ name: string; in: string; required?: boolean; description?: string; schema?: Schema }>
  requestBody?: Content
  responses?: Record<string, Content & { description?: string }>
  'x-status'?: string
  'x-codeSamples'?: Array<{ label: string; source: string }>
}

/** GET /openapi.json. */
export interface OpenApi {
  paths: Record<string, Record<string, OperationObject>>
  components?: { schemas?: Record<string, Schema> }
}

/** An operation as the reference shows it. */
export interface Operation {
  /** For the address: `#chat-completions`. */
  id: string
  method: string
  path: string
  tag: string
  summary: string
  description: string | undefined
  status: string | undefined
  deprecated: boolean
  samples: Array<{ label: string; source: string }>
  parameters: SchemaField[]
  bodies: Array<{ mediaType: string; fields: SchemaField[]; type: string }>
  responses: OperationResponse[]
}

interface OperationResponse {
  status: string
  description: string
  /** Null: without a body, or one that nothing describes. */
  mediaType: string | null
  fields: SchemaField[]
}

/** A field of a schema, with those inside it. */
export interface SchemaField {
  name: string
  type: string
  required: boolean
  /** What it says of itself, and its bounds. */
  notes: string[]
  fields: SchemaField[]
}

/** Deeper schemas are rare, and one may contain itself. */
const DEPTH_MAX = 6

/** Every operation of a document, in its order. */
export function operationsOf(document: OpenApi): Operation[] {
  const fields = (schema: Schema | undefined) => fieldsOf(schema, document)
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Operation => {
      const { operationId, tags, summary, parameters = [], requestBody, responses = {} } = operation
      return {
        id: operationId ?? `${method}-${path.replace(/\W+/g, '-').replace(/^-|-$/g, '')}`,
        method: method.toUpperCase(),
        path,
        tag: tags?.[0] ?? 'Other',
        summary: summary ?? operation.description ?? `${method.toUpperCase()} ${path}`,
        description: operation.description,
        status: operation['x-status'],
        deprecated: operation.deprecated === true,
        samples: operation['x-codeSamples'] ?? [],
        parameters: parameters.map(({ name, in: place, required = false, description, schema = {} }) => ({
          ...fieldOf(name, required, schema, document, 0),
          notes: [`in the ${place}`, ...(description ? [description] : []), ...notesOf(schema)],
        })),
        bodies: Object.entries(requestBody?.content ?? {}).map(([mediaType, { schema = {} }]) => ({
          mediaType,
          type: typeOf(schema, document),
          fields: fields(schema),
        })),
        responses: Object.entries(responses).flatMap(
          ([status, { description = '', content = {} }]): OperationResponse[] => {
            const row = { status, description: description === 'Default Response' ? '' : description }
            const kinds = Object.entries(content)
            if (kinds.length === 0) return [{ ...row, mediaType: null, fields: [] }]
            // All errors have the same schema, which is shown once, for `default`.
            const isTold = status < '400' || status === 'default'
            return kinds.map(([mediaType, { schema }]) => ({
              ...row,
              mediaType,
              fields: isTold ? fields(schema) : [],
            }))
          },
        ),
      }
    }),
  )
}

/** The fields of an object, of each item of an array, or of all alternatives together. */
function fieldsOf(given: Schema | undefined, document: OpenApi, depth = 0): SchemaField[] {
  if (given === undefined || depth > DEPTH_MAX) return []
  const schema = resolved(given, document)
  const content = schema.properties?.data?.contentSchema
  // For an event, only the schema of its data is shown.
  if (content) return fieldsOf(content, document, depth)
  const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => list ?? [])
  const own = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldOf(name, schema.required?.includes(name) ?? false, field, document, depth),
  )
  const within = [...(schema.items ? [schema.items] : []), ...alternatives]
  const all = [...own, ...within.flatMap((part) => fieldsOf(part, document, depth))]
  return [...new Map(all.toReversed().map((field) => [field.name, field])).values()].toReversed()
}

const fieldOf = (
  name: string,
  required: boolean,
  schema: Schema,
  document: OpenApi,
  depth: number,
): SchemaField => ({
  name,
  required,
  type: typeOf(schema, document),
  notes: notesOf(resolved(schema, document)),
  fields: fieldsOf(schema, document, depth + 1),
})

/** A type in words: `string or null`, `array of object`. */
function typeOf(given: Schema, document: OpenApi): string {
  const schema = resolved(given, document)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ')
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return [...new Set(alternatives.map((part) => typeOf(part, document)))].join(' or ')
  if (schema.type === 'array' && schema.items) return `array of ${typeOf(schema.items, document)}`
  return [schema.type ?? (schema.properties ? 'object' : 'any')].flat().join(' or ')
}

const RANGES = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' items'],
] as const

function notesOf(schema: Schema): string[] {
  const ranges = RANGES.flatMap(([least, most, unit]) => {
    const [from, to] = [schema[least], schema[most] === Number.MAX_SAFE_INTEGER ? undefined : schema[most]]
    if (from !== undefined && to !== undefined) return [`${from} to ${to}${unit}`]
    if (from !== undefined) return [`at least ${from}${unit}`]
    return to === undefined ? [] : [`at most ${to}${unit}`]
  })
  return [
    ...(schema.description ? [schema.description] : []),
    ...ranges,
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ]
}

const resolved = (schema: Schema, { components }: OpenApi): Schema => {
  const name = schema.$ref?.match(/^#\/components\/schemas\/(.+)$/)?.[1]
  return (name !== undefined && components?.schemas?.[name]) || schema
}

/**
 * Request validation. A route declares TypeBox schemas; Ajv compiles each once, when the route is registered:
 *
 *     export const things: FastifyPluginAsyncTypebox<Dependencies> = async (app, { store }) => {
 *       app.post(PATH, { onRequest: [app.requireKey], schema: { body: NewThing, response: { 201: Thing } } },
 *         async (request, reply) => reply.code(201).send(viewOf(await store.add(request.body.name))))
 *     }
 *
 * - Validation runs after the body is parsed and before the handler: hooks that answer 401 and 403 (`onRequest`, or
 *   `preValidation` for what comes after a body that cannot be parsed) go first.
 * - `Type.Object({...}, { additionalProperties: false })` refuses unknown fields; without it they are accepted.
 * - Bodies are not coerced. In a query string an empty parameter counts as absent, and digits become a number where
 *   the schema says integer. Defaults are filled in: `limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 })`.
 * - The first offending field is reported: an unknown one, else in the order of the schema. The wording follows from
 *   the keyword (`defaultWording` below); `errorMessage` on a schema replaces it, for all keywords or by keyword:
 *   `{ errorMessage: 'Send …' }`, `{ errorMessage: { additionalProperties: 'Unknown field.' } }`.
 * - `format` takes the names of SCHEMA_FORMATS (src/core/api/schema-formats.ts); `nullable()` makes a type nullable.
 * - Response schemas type the handlers and document them. Responses are written by JSON.stringify, as without one.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import plugin from 'fastify-plugin'
import type { TSchema } from 'typebox'
import { SCHEMA_FORMATS } from '../../core/api/schema-formats.ts'
import { ApiError } from '../../core/kernel/errors.ts'

/** What of a schema decides about order and wording. */
interface SchemaNode {
  type?: string | string[]
  properties?: Record<string, SchemaNode>
  items?: SchemaNode
  enum?: unknown[]
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  errorMessage?: string | Record<string, string>
}

const PARAM_CHARS_MAX = 100

const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  useDefaults: true,
  // The length of a text is that of its JavaScript string; Ajv logs that this option is deprecated.
  unicode: false,
  logger: false,
  allowUnionTypes: true,
  keywords: ['errorMessage'],
  formats: SCHEMA_FORMATS,
})

/** Validates requests by the schemas of their routes. */
export const validateRequests = plugin(
  async (app) => {
    app.setValidatorCompiler(compileSchema as FastifySchemaCompiler<unknown>)
    app.setSerializerCompiler(() => (payload) => JSON.stringify(payload))
  },
  { name: 'validate-requests' },
)

function compileSchema({ schema, httpPart }: { schema: TSchema; httpPart?: string }) {
  const validate = ajv.compile(schema)
  if (httpPart !== 'querystring') return (value: unknown) => validationOf(validate, value, false)
  return (query: Record<string, unknown>) => {
    for (const [name, { type }] of Object.entries((schema as SchemaNode).properties ?? {})) {
      const value = query[name]
      if (value === '') delete query[name]
      else if (type === 'integer' && typeof value === 'string' && /^\d{1,9}$/.test(value))
        query[name] = Number(value)
    }
    return validationOf(validate, query, true)
  }
}

function validationOf(validate: ValidateFunction, value: unknown, isQuery: boolean) {
  if (validate(value)) return { value }
  return { error: toApiError(validate.errors!, validate.schema as SchemaNode, isQuery) }
}

/** The refusal of a request part that does not fit its schema. */
function toApiError(errors: ErrorObject[], schema: SchemaNode, isQuery: boolean): ApiError {
  const ranked = errors.map((error) => ({ error, rank: rankOf(pathOf(error), schema) }))
  const { error } = ranked.reduce((first, next) => (compareRanks(next.rank, first.rank) < 0 ? next : first))
  const param = pathOf(error).reduce((path, name) => {
    if (path === '') return name
    return /^\d+$/.test(name) ? `${path}[${name}]` : `${path}.${name}`
  }, '')
  return new ApiError('invalid_request', wordingOf(error, param, isQuery), {
    param: param === '' ? undefined : param.slice(0, PARAM_CHARS_MAX),
  })
}

/** The names and indexes from the root to the offending field. */
function pathOf({ instancePath, params }: ErrorObject): string[] {
  const names = instancePath.split('/').slice(1)
  const path = names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const field = params.missingProperty ?? params.additionalProperty
  return field === undefined ? path : [...path, field]
}

/** The place of a field in its schema, level by level: an unknown one before the known ones in their order. */
function rankOf([name, ...rest]: string[], schema: SchemaNode | undefined): number[] {
  if (name === undefined) return []
  if (schema?.items) return [Number(name), ...rankOf(rest, schema.items)]
  const properties = schema?.properties ?? {}
  return [Object.keys(properties).indexOf(name), ...rankOf(rest, properties[name])]
}

function compareRanks(one: number[], other: number[]): number {
  const level = one.findIndex((place, index) => place !== other[index])
  return level === -1 ? one.length - other.length : one[level]! - (other[level] ?? -1)
}

function wordingOf(error: ErrorObject, param: string, isQuery: boolean): string {
  if (isQuery && Array.isArray(error.data)) return `Send \`${param}\` once.`
  const isMissing = error.keyword === 'required'
  const schema = error.parentSchema as SchemaNode
  // A missing field is worded as one of the wrong type.
  const node = isMissing ? schema.properties![error.params.missingProperty]! : schema
  const { errorMessage } = node
  const own =
    typeof errorMessage === 'string' ? errorMessage : errorMessage?.[isMissing ? 'type' : error.keyword]
  if (own !== undefined) return own
  if (error.keyword === 'additionalProperties') {
    const known = Object.keys(node.properties ?? {}).join(', ')
    return `\`${error.params.additionalProperty}\` is no ${isQuery ? 'parameter' : 'field'} here. Known: ${known}.`
  }
  return param === '' ? 'Send a JSON object as the body.' : defaultWording(node, param)
}

function defaultWording(node: SchemaNode, param: string): string {
  const { minLength = 0, maxLength, minimum, maximum } = node
  if (node.enum) return `\`${param}\` must be one of ${node.enum.filter((word) => word !== null).join(', ')}.`
  switch (Array.isArray(node.type) ? node.type[0] : node.type) {
    case 'string':
      return maxLength === undefined
        ? `\`${param}\` must be a string.`
        : `\`${param}\` takes a text of ${minLength} to ${maxLength} characters.`
    case 'integer':
      return `\`${param}\` must be a whole number from ${minimum} to ${maximum}.`
    case 'number':
      return `\`${param}\` must be a number from ${minimum} to ${maximum}.`
    case 'boolean':
      return `\`${param}\` must be true or false.`
    case 'array':
      return `\`${param}\` must be an array.`
    default:
      return `\`${param}\` must be an object.`
  }
}

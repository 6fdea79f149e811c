import { Ajv, type ErrorObject } from 'ajv'
import type { TSchema } from 'typebox'
import { parseCallPosition } from '../billing/call-cursor.ts'
import { hasControlCharacters, isEmailShaped, isPlainEmail, normalizeEmail } from '../kernel/email-address.ts'
import { ApiError } from '../kernel/errors.ts'
import { parseUsd, plainDecimal } from '../kernel/money.ts'
import { parseMoment } from '../kernel/time.ts'

const AMOUNT_MAX = parseUsd('1000000.00')
const USD_DECIMALS = 12

/** Whether a text is a decimal amount within a million, and not zero. */
function isAmount(text: string, isSigned: boolean): boolean {
  try {
    const amountPico = parseUsd(text)
    const size = isSigned && amountPico < 0n ? -amountPico : amountPico
    return size > 0n && size <= AMOUNT_MAX
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

function isUsd(text: string): boolean {
  const decimal = plainDecimal(text, USD_DECIMALS)
  return decimal !== null && parseUsd(decimal) <= AMOUNT_MAX
}

/** The formats that schemas name: whether a text is of the format. */
const SCHEMA_FORMATS = {
  line: (text: string) => !hasControlCharacters(text),
  moment: (text: string) => parseMoment(text) !== null,
  cursor: (text: string) => parseCallPosition(text) !== null,
  email: (text: string) => isEmailShaped(normalizeEmail(text)),
  /** Unquoted, without invisible characters. */
  'new-email': (text: string) => isPlainEmail(normalizeEmail(text)),
  usd: isUsd,
  'positive-amount': (text: string) => isAmount(text, false),
  'signed-amount': (text: string) => isAmount(text, true),
}

/** The formats as JSON schema, as closely as a schema can express them. */
export const DESCRIBED_FORMATS: Readonly<Record<string, object>> = {
  line: { pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' },
  moment: {
    pattern:
      '^(|(19[7-9]\\d|[2-9]\\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])(T([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,3})?)?(Z|[+-]\\d{2}:\\d{2}))?)$',
    description: 'A date, or a date and time with its zone',
  },
  cursor: { pattern: '^[\\w-]*$', description: '`next_cursor` of the page before' },
  email: { format: 'email' },
  'new-email': { format: 'email' },
  usd: { pattern: '^\\d{1,7}(\\.\\d{1,12})?$' },
  'positive-amount': { pattern: '^\\d{1,7}(\\.\\d{1,12})?$' },
  'signed-amount': { pattern: '^[+-]?\\d{1,7}(\\.\\d{1,12})?$' },
}

/** The parts of a schema that decide about order and error text. */
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
  useDefaults: true,
  // Counts UTF-16 code units, as JavaScript does; Ajv logs that this option is deprecated.
  unicode: false,
  logger: false,
  allowUnionTypes: true,
  keywords: ['errorMessage', 'documented'],
  formats: SCHEMA_FORMATS,
})

/**
 * Creates a validator, which returns the error for an invalid value, or null. In a query string it removes empty
 * parameters and converts digits to numbers where the schema says integer, in place. The schema is compiled at the
 * first value, to keep the start of a process fast.
 */
export function createValidator(given: TSchema, isQuery = false): (value: unknown) => ApiError | null {
  const schema = given as SchemaNode
  let validate: ReturnType<typeof ajv.compile> | undefined
  return (value) => {
    validate ??= ajv.compile(schema)
    if (isQuery) readQuery(value as Record<string, unknown>, schema)
    if (validate(value)) return null
    return toApiError(firstError(validate.errors!, value, schema), value, schema, isQuery)
  }
}

function readQuery(query: Record<string, unknown>, { properties = {} }: SchemaNode): void {
  for (const [name, { type }] of Object.entries(properties)) {
    const value = query[name]
    if (value === '') delete query[name]
    else if (type === 'integer' && typeof value === 'string' && /^\d{1,9}$/.test(value))
      query[name] = Number(value)
  }
}

/** Ajv stops at the first error, but checks for missing fields before all others: an earlier error takes precedence. */
function firstError(errors: ErrorObject[], value: unknown, schema: SchemaNode): ErrorObject {
  const error = errors.at(-1)!
  if (error.keyword !== 'required') return error
  const validatePresent = withoutRequired(schema)
  if (validatePresent(value)) return error
  const present = validatePresent.errors!.at(-1)!
  return isBefore(rankOf(pathOf(present), schema), rankOf(pathOf(error), schema)) ? present : error
}

const relaxed = new WeakMap<SchemaNode, ReturnType<typeof ajv.compile>>()

/** Validates the present fields. Compiled on first use. */
function withoutRequired(schema: SchemaNode) {
  const known = relaxed.get(schema)
  if (known) return known
  const text = JSON.stringify(schema, (name, value) => (name === 'required' ? undefined : value))
  const validate = ajv.compile(JSON.parse(text))
  relaxed.set(schema, validate)
  return validate
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

function isBefore(one: number[], other: number[]): boolean {
  const level = one.findIndex((place, index) => place !== other[index])
  return level !== -1 && one[level]! < (other[level] ?? 0)
}

/** The error for a part of a request that does not match its schema. */
function toApiError(error: ErrorObject, value: unknown, root: SchemaNode, isQuery: boolean): ApiError {
  const path = pathOf(error)
  let [node, param] = [root, '']
  for (const name of path) {
    const next = node.items ?? node.properties?.[name]
    if (typeof node.errorMessage === 'string' || (next === undefined && node.properties === undefined)) break
    param = param === '' ? name : node.items ? `${param}[${name}]` : `${param}.${name}`
    if (next === undefined) break
    node = next
  }
  const isRepeated = isQuery && Array.isArray((value as Record<string, unknown>)[path[0] ?? ''])
  const message = isRepeated ? `Send \`${param}\` once.` : wordingOf(error, node, param, isQuery)
  return new ApiError('invalid_request', message, {
    param: param === '' ? undefined : param.slice(0, PARAM_CHARS_MAX),
  })
}

function wordingOf({ keyword, params }: ErrorObject, node: SchemaNode, param: string, isQuery: boolean) {
  const { errorMessage, properties = {} } = node
  // A missing field has the same error text as one of the wrong type.
  const own =
    typeof errorMessage === 'string'
      ? errorMessage
      : errorMessage?.[keyword === 'required' ? 'type' : keyword]
  if (own !== undefined) return own.replaceAll('{param}', param)
  if (keyword === 'additionalProperties') {
    const known = Object.keys(properties).join(', ')
    return `\`${params.additionalProperty}\` is no ${isQuery ? 'parameter' : 'field'} here. Known: ${known}.`
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

import { type Fields, isObject } from '../json-object.ts'

/** Keywords that the wire's schemas take as they are. */
const KEPT = [
  'title',
  'description',
  'nullable',
  'maxItems',
  'minItems',
  'maxProperties',
  'minProperties',
  'maxLength',
  'minLength',
  'pattern',
  'minimum',
  'maximum',
  'required',
  'propertyOrdering',
] as const
const LISTS = new Set<string>(['required', 'propertyOrdering'])

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ['date-time', 'enum'],
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
}

/** References may multiply a small schema without end; beyond this many parts it says no more. */
const MAX_PARTS = 2_000

/**
 * A JSON Schema in the part of OpenAPI's schemas that this wire takes: keywords it refuses are left out,
 * references are put in their place, `const` and numeric enums become what it has instead. A part that
 * contains itself is cut where it does.
 * @returns null where nothing is left to say
 */
export function openApiSchema(schema: unknown): Fields | null {
  return isObject(schema) ? convert(schema, { root: schema, partsLeft: MAX_PARTS }, []) : null
}

interface Conversion {
  root: Fields
  partsLeft: number
}

/** @param within the references that led here */
function convert(schema: Fields, conversion: Conversion, within: readonly string[]): Fields {
  const result: Fields = {}
  const { $ref: reference } = schema
  const isCut = typeof reference === 'string' && within.includes(reference)
  if (isCut || conversion.partsLeft-- <= 0) return result
  const path = typeof reference === 'string' ? [...within, reference] : within
  const target = resolve(schema, conversion.root)
  if (typeof reference === 'string' && typeof target.$ref === 'string')
    return convert(target, conversion, path)
  for (const keyword of KEPT) {
    const value = target[keyword]
    if (value !== undefined && Array.isArray(value) === LISTS.has(keyword)) result[keyword] = value
  }
  const below = (value: unknown): Fields => (isObject(value) ? convert(value, conversion, path) : {})

  putType(target, result)
  putEnum(target, result)
  if (isObject(target.properties)) {
    const properties = Object.entries(target.properties).map(([name, value]) => [name, below(value)])
    if (properties.length > 0) result.properties = Object.fromEntries(properties)
  }
  // The wire refuses to require what is not described.
  if (!isObject(result.properties)) delete result.required
  if (result.type === 'array') {
    result.items = below(Array.isArray(target.items) ? target.items[0] : target.items)
  }
  putAlternatives(target, result, below)
  return result
}

/** `type: [T, "null"]` is a nullable T; several types are alternatives. */
function putType({ type, format }: Fields, result: Fields): void {
  const types = (Array.isArray(type) ? type : [type]).filter((one) => typeof one === 'string')
  const named = types.filter((one) => one !== 'null')
  if (named.length < types.length) result.nullable = true
  if (named.length === 1) result.type = named[0]
  else if (named.length > 1) result.anyOf = named.map((one) => ({ type: one }))
  if (typeof format === 'string' && FORMATS[String(result.type)]?.includes(format)) result.format = format
}

/** Enums are of strings only. */
function putEnum(target: Fields, result: Fields): void {
  const values = Array.isArray(target.enum) ? target.enum : 'const' in target ? [target.const] : null
  if (values === null) return
  if (values.includes(null)) result.nullable = true
  const named = values.filter((value) => value !== null)
  if (!named.every((value) => typeof value === 'string')) return
  result.type = 'string'
  result.enum = named
}

function putAlternatives(target: Fields, result: Fields, below: (value: unknown) => Fields): void {
  const given = [target.anyOf, target.oneOf].find(Array.isArray)
  if (given) {
    const named = given.filter((one) => !(isObject(one) && one.type === 'null'))
    if (named.length < given.length) result.nullable = true
    if (named.length === 1) Object.assign(result, { ...below(named[0]), ...result })
    else if (named.length > 1) result.anyOf = named.map(below)
  }
  if (Array.isArray(target.allOf)) {
    for (const part of target.allOf) mergeInto(result, below(part))
  }
}

function mergeInto(result: Fields, part: Fields): void {
  const properties = { ...(result.properties as Fields), ...(part.properties as Fields) }
  const required = [...((result.required as unknown[]) ?? []), ...((part.required as unknown[]) ?? [])]
  Object.assign(result, { ...part, ...result })
  if (Object.keys(properties).length > 0) result.properties = properties
  if (required.length > 0 && result.properties !== undefined) result.required = [...new Set(required)]
}

/** What a `$ref` into the same schema means. */
function resolve(schema: Fields, root: Fields): Fields {
  const { $ref: reference, ...rest } = schema
  if (typeof reference !== 'string' || !reference.startsWith('#')) return schema
  let target: unknown = root
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    target = isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined
  }
  return isObject(target) ? { ...target, ...rest } : rest
}

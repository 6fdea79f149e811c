import { type Fields, isObject } from '../json/json-object.ts'

/** Keywords that the wire's schemas support unchanged. */
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
/** Keywords of a schema part that are read. */
const READ = [
  ...KEPT,
  '$ref',
  'type',
  'format',
  'enum',
  'const',
  'properties',
  'items',
  'anyOf',
  'oneOf',
  'allOf',
] as const
const LISTS = new Set<string>(['required', 'propertyOrdering'])

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ['date-time', 'enum'],
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
}

/** Base cost of a part besides its keys, entries and copied text, so that 10,000 parts exhaust a budget. */
const PART_COST = 50
/** Cost of each key and list entry besides its text. */
const ENTRY_COST = 4
/** A longer chain of references counts as infinite. */
export const REFERENCES_DEEP = 64
/** Roughly characters of output. */
export const RESOLVED_CHARS_MAX = 500_000

/** A schema that grows too large when its references are resolved. */
export class SchemaTooLarge extends Error {
  constructor() {
    super('a schema is too large once its references are resolved')
  }
}

/**
 * Maximum cost of a conversion, roughly in output characters. A few references can multiply a small schema
 * indefinitely, so everything that is copied counts: parts, keys, list entries, text.
 */
export class SchemaBudget {
  #left = RESOLVED_CHARS_MAX

  /** Throws SchemaTooLarge when the budget is used up. */
  spend(cost: number): void {
    this.#left -= cost
    if (this.#left < 0) throw new SchemaTooLarge()
  }
}

/**
 * Converts a JSON Schema to the subset of OpenAPI schemas that the generate-content wire supports: unsupported
 * keywords are removed, references resolved, `const` and numeric enums replaced by supported forms. A recursive part
 * is cut at its recursion. Takes time proportional to the budget it spends.
 * Throws SchemaTooLarge.
 * @returns null if nothing remains
 */
export function openApiSchema(schema: unknown, budget: SchemaBudget): Fields | null {
  return isObject(schema) ? convert(schema, { root: schema, budget }, []) : null
}

interface Conversion {
  root: Fields
  budget: SchemaBudget
}

/** @param within the references that led here */
function convert(schema: Fields, conversion: Conversion, within: readonly string[]): Fields {
  const { budget } = conversion
  budget.spend(PART_COST)
  const result: Fields = {}
  const { $ref: reference } = schema
  if (typeof reference === 'string' && within.includes(reference)) return result
  const path = typeof reference === 'string' ? [...within, reference] : within
  if (path.length > REFERENCES_DEEP) throw new SchemaTooLarge()
  const target = resolve(schema, conversion)
  if (typeof reference === 'string' && typeof target.$ref === 'string')
    return convert(target, conversion, path)
  for (const keyword of KEPT) {
    const value = target[keyword]
    if (value === undefined || isObject(value) || Array.isArray(value) !== LISTS.has(keyword)) continue
    budget.spend(costOf(value))
    result[keyword] = Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : value
  }
  const below = (value: unknown): Fields => (isObject(value) ? convert(value, conversion, path) : {})

  putType(target, result, budget)
  putEnum(target, result, budget)
  if (isObject(target.properties)) {
    const properties = Object.entries(target.properties).map(([name, value]) => {
      budget.spend(costOf(name))
      return [name, below(value)]
    })
    if (properties.length > 0) result.properties = Object.fromEntries(properties)
  }
  if (result.type === 'array') {
    result.items = below(Array.isArray(target.items) ? target.items[0] : target.items)
  }
  putAlternatives(target, result, below, budget)
  putRequired(result)
  return result
}

/** The wire rejects required names that are not among the properties. */
function putRequired(result: Fields): void {
  const { properties, required } = result
  if (!Array.isArray(required)) return
  const named = isObject(properties) ? required.filter((name) => Object.hasOwn(properties, name)) : []
  if (named.length > 0) result.required = named
  else delete result.required
}

/** Cost of copying a value: its text, and that of its entries. */
function costOf(value: unknown): number {
  if (typeof value === 'string') return ENTRY_COST + value.length
  if (!Array.isArray(value)) return ENTRY_COST
  return value.reduce(
    (sum: number, entry) => sum + ENTRY_COST + (typeof entry === 'string' ? entry.length : 0),
    0,
  )
}

/** `type: [T, "null"]` is a nullable T; several types are alternatives. */
function putType({ type, format }: Fields, result: Fields, budget: SchemaBudget): void {
  budget.spend(costOf(type))
  const types = (Array.isArray(type) ? type : [type]).filter((one) => typeof one === 'string')
  const named = types.filter((one) => one !== 'null')
  if (named.length < types.length) result.nullable = true
  if (named.length === 1) result.type = named[0]
  else if (named.length > 1) result.anyOf = named.map((one) => ({ type: one }))
  if (typeof format === 'string' && FORMATS[String(result.type)]?.includes(format)) result.format = format
}

/** Only enums of strings that are not empty are supported. */
function putEnum(target: Fields, result: Fields, budget: SchemaBudget): void {
  const values = Array.isArray(target.enum) ? target.enum : 'const' in target ? [target.const] : null
  if (values === null) return
  budget.spend(costOf(values))
  if (values.includes(null)) result.nullable = true
  const named = values.filter((value) => value !== null)
  if (!named.every((value) => typeof value === 'string')) return
  result.type = 'string'
  const filled = named.filter((value) => value !== '')
  if (filled.length > 0) result.enum = filled
}

function putAlternatives(
  target: Fields,
  result: Fields,
  below: (value: unknown) => Fields,
  budget: SchemaBudget,
): void {
  const given = [target.anyOf, target.oneOf].find(Array.isArray)
  if (given) {
    budget.spend(costOf(given))
    const named = given.filter((one) => !(isObject(one) && one.type === 'null'))
    if (named.length < given.length) result.nullable = true
    if (named.length === 1) Object.assign(result, { ...below(named[0]), ...result })
    else if (named.length > 1) result.anyOf = named.map(below)
  }
  if (Array.isArray(target.allOf)) {
    budget.spend(costOf(target.allOf))
    mergeAll(target.allOf.map(below), result)
  }
}

function mergeAll(parts: readonly Fields[], result: Fields): void {
  const properties: Fields = Object.assign({}, result.properties)
  const required = new Set(result.required as unknown[] | undefined)
  for (const part of parts) {
    Object.assign(properties, part.properties)
    for (const name of (part.required as unknown[] | undefined) ?? []) required.add(name)
    Object.assign(result, { ...part, ...result })
  }
  if (Object.keys(properties).length > 0) result.properties = properties
  if (required.size > 0 && result.properties !== undefined) result.required = [...required]
}

/** Resolves a `$ref` into the same schema. */
function resolve(schema: Fields, { root, budget }: Conversion): Fields {
  const { $ref: reference } = schema
  if (typeof reference !== 'string' || !reference.startsWith('#')) return schema
  budget.spend(costOf(reference))
  let target: unknown = root
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    target = isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined
  }
  // Not spread: either may have any number of irrelevant keys.
  const merged: Fields = {}
  for (const keyword of READ) {
    if (keyword !== '$ref' && Object.hasOwn(schema, keyword)) merged[keyword] = schema[keyword]
    else if (isObject(target) && Object.hasOwn(target, keyword)) merged[keyword] = target[keyword]
  }
  return merged
}

import { plainName } from './reasoning-effort.ts'
import { type Fields, isObject, jsonSchemaOf } from './wire.ts'

/** Names of Claude models before structured output: 3, 4.0 and 4.1. */
const BEFORE_STRUCTURED_OUTPUT = /claude-(3|4-|[a-z]+-4([-.][01])?(-\d{8})?$)/

/** Whether an upstream model, as its maker or a cloud names it, is of a family that has no field for a schema on any wire. */
export const lacksStructuredOutput = (model: string): boolean =>
  BEFORE_STRUCTURED_OUTPUT.test(plainName(model))

/**
 * A `response_format` as `output_config.format` of the messages wire. Null if the request asks for no schema, if the
 * model has no structured output, or if its subset of JSON Schema cannot express the schema.
 */
export function structuredOutput(
  responseFormat: Record<string, unknown> | undefined,
  model: string,
): { type: 'json_schema'; schema: Fields } | null {
  if (responseFormat?.type !== 'json_schema') return null
  if (!model.includes('claude-') || lacksStructuredOutput(model)) return null
  const given = jsonSchemaOf(responseFormat)
  const schema = isObject(given) && !isRecursive(given) ? closedSchema(given) : null
  return schema && { type: 'json_schema', schema }
}

const TYPES = new Set<unknown>('object array string number integer boolean null'.split(' '))
/** Keywords whose subschemas do not depend on a type. */
const MIXED = ['anyOf', 'oneOf', 'allOf'] as const
/** The formats of texts that the wire's subset has. */
const STRING_FORMATS = 'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' ')
/** Keywords with their value as it is. */
const COPIED = ['$ref', 'title', 'required', 'const', 'enum'] as const

/**
 * A schema in the subset of the wire, which admits a part of the given schema's values: objects have no further
 * properties. Other constraints are added to the description, as the maker's client library does. Null if only
 * values would be left that the client did not mean.
 */
function closedSchema(given: Fields): Fields | null {
  const { type, $schema: _dialect, description, ...rest } = given
  if (Array.isArray(type)) {
    const { title, $defs, definitions, ...constraints } = rest
    // Subschemas that apply to each type would be repeated for it, and at each level again.
    if (!type.every((each) => TYPES.has(each)) || MIXED.some((name) => name in constraints)) return null
    const branches = [...new Set(type)].map((each) =>
      closedSchema({ ...constraintsOf(each, constraints), type: each }),
    )
    const named = withDefinitions({ title, description, anyOf: branches }, { $defs, definitions })
    return branches.includes(null) ? null : named
  }
  const { $defs, definitions, properties, additionalProperties, items, anyOf, oneOf, allOf, ...others } = rest
  const schema: Fields = { type }
  if (type === 'object') {
    // A map has names that the wire cannot leave open.
    if (!isObject(properties) || (additionalProperties ?? false) !== false) return null
    schema.properties = mapSchemas(properties)
    schema.additionalProperties = false
  }
  if (items !== undefined) schema.items = isObject(items) ? closedSchema(items) : null
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices)) schema.anyOf = choices.map(branchOf)
  if (Array.isArray(allOf)) schema.allOf = allOf.map(branchOf)
  for (const name of COPIED) {
    if (others[name] !== undefined) schema[name] = others[name]
    delete others[name]
  }
  if (STRING_FORMATS.includes(String(others.format))) {
    schema.format = others.format
    delete others.format
  }
  if (others.minItems === 0 || others.minItems === 1) {
    schema.minItems = others.minItems
    delete others.minItems
  }
  const dropped = Object.entries(others).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  const texts = [description, ...(dropped.length > 0 ? [`{${dropped.join(', ')}}`] : [])]
  const described = texts.filter((text) => typeof text === 'string' && text !== '').join('\n\n')
  if (described !== '') schema.description = described
  const parts = [schema.properties, schema.items, schema.anyOf, schema.allOf]
  return parts.some(lacksPart) ? null : withDefinitions(schema, { $defs, definitions })
}

const branchOf = (branch: unknown): Fields | null => (isObject(branch) ? closedSchema(branch) : null)

const mapSchemas = (schemas: Fields): Fields =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, branchOf(schema)]))

/** Whether a group of subschemas has one that cannot be expressed. */
const lacksPart = (part: unknown): boolean =>
  part === null || (typeof part === 'object' && Object.values(part).includes(null))

/** The constraints that a schema of several types puts on one of them. */
function constraintsOf(type: unknown, constraints: Fields): Fields {
  const { properties, required, additionalProperties, items, minItems, ...others } = constraints
  if (type === 'object') return { properties, required, additionalProperties, ...others }
  return type === 'array' ? { items, minItems, ...others } : others
}

function withDefinitions(schema: Fields, groups: { $defs: unknown; definitions: unknown }): Fields | null {
  for (const [name, definitions] of Object.entries(groups)) {
    if (!isObject(definitions)) continue
    const mapped = mapSchemas(definitions)
    if (lacksPart(mapped)) return null
    schema[name] = mapped
  }
  return schema
}

/**
 * Whether a schema contains itself, which the wire refuses. Follows the names of its definitions and visits each once:
 * a few that refer to each other twice have more paths than can be walked.
 */
function isRecursive({ $defs, definitions, ...root }: Fields): boolean {
  const groups = [$defs, definitions].filter(isObject)
  const definitionOf = (name: string) => groups.find((group) => Object.hasOwn(group, name))?.[name]
  const within = new Set<string>()
  const done = new Set<string>()
  const stack: string[] = []
  /** Adds the definitions that a part refers to. Returns whether one of them contains the part. */
  const closesCycle = (part: unknown): boolean => {
    for (const [, path] of (JSON.stringify(part) ?? '').matchAll(/"\$ref":"#([^"]*)"/g)) {
      const name = path!.split('/').at(-1)!
      if (path === '' || within.has(name)) return true
      if (!done.has(name)) stack.push(name)
    }
    return false
  }
  if (closesCycle(root)) return true
  for (let name = stack.at(-1); name !== undefined; name = stack.at(-1)) {
    if (within.delete(name)) done.add(name)
    if (done.has(name)) {
      stack.pop()
      continue
    }
    within.add(name)
    if (closesCycle(definitionOf(name))) return true
  }
  return false
}

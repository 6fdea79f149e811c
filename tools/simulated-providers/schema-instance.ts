type Fields = Record<string, unknown>

const MAX_DEPTH = 8

/**
 * A value that fits a JSON Schema, made from a prompt: strings take the prompt's quoted text or its last
 * word, numbers its first number. Covers the part of JSON Schema that tool definitions use. Deterministic.
 */
export function schemaInstance(schema: unknown, prompt: string, depth = 0): unknown {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return {}
  const fields = schema as Fields
  if ('const' in fields) return fields.const
  if (Array.isArray(fields.enum) && fields.enum.length > 0) return fields.enum[0]
  const alternatives = [fields.anyOf, fields.oneOf, fields.allOf].find(Array.isArray)
  if (alternatives && alternatives.length > 0) return schemaInstance(alternatives[0], prompt, depth + 1)

  const type = Array.isArray(fields.type) ? fields.type[0] : fields.type
  switch (type) {
    case 'string':
      return promptText(prompt)
    case 'integer':
      return Math.trunc(promptNumber(prompt))
    case 'number':
      return promptNumber(prompt)
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return [schemaInstance(fields.items ?? { type: 'string' }, prompt, depth + 1)]
    default:
      return objectInstance(fields, prompt, depth)
  }
}

function objectInstance(schema: Fields, prompt: string, depth: number): Fields {
  const properties = (schema.properties ?? {}) as Fields
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, schemaInstance(property, prompt, depth + 1)]),
  )
}

function promptText(prompt: string): string {
  const quoted = /["“']([^"”']{1,200})["”']/.exec(prompt)?.[1]
  const words = prompt.split(/[\s.,;:!?]+/).filter((word) => word.length > 0)
  return quoted ?? words.at(-1) ?? 'example'
}

const promptNumber = (prompt: string): number => Number(/-?\d+(?:\.\d+)?/.exec(prompt)?.[0] ?? 1)

import type { TSchema } from 'typebox'
import { promptField } from '../../src/core/api/reference/prompt-fields.ts'
import { many, upTo } from './worst-inputs.ts'

/** A body that matches a schema, and in which one thing grows. */
export interface Growth {
  /** The path of what grows, and how. */
  name: string
  make: (count: number) => unknown
  /** The most that the schema takes. */
  most: number
}

interface Shape extends Record<string, unknown> {
  type?: string | string[]
  anyOf?: Shape[]
  oneOf?: Shape[]
  documented?: Shape | string
  const?: unknown
  enum?: unknown[]
  properties?: Record<string, Shape>
  required?: string[]
  items?: Shape
  pattern?: string
  minLength?: number
  maxLength?: number
  maxItems?: number
  minimum?: number
}

/** Pieces that patterns and scanners may stumble over when they are repeated. */
const PIECES = ['a', ' \n', '"\\', '{"a":[', 'a,b;c=d/', '\u0301\ud83d']
/** More than any schema's own bound that is worth a measurement. */
const LONG_CHARS = 4_096
const TEXT_CHARS = 20_000
const PLAIN_CHARS = 8_000
const SEVERAL = 10_000
/** The entries of a schema that grows; each is several values. */
const PARTS = 2_000
const DEEP = 200

const plain = ({ documented, ...shape }: Shape): Shape => ({
  ...shape,
  ...(typeof documented === 'string' ? (promptField(documented) as Shape) : documented),
})
const alternatives = ({ anyOf, oneOf }: Shape): Shape[] | undefined => anyOf ?? oneOf
const typesOf = ({ type }: Shape): string[] => [type ?? []].flat()

/** The shortest value of a shape. `index` tells entries of one list apart. */
export function least(given: Shape, index = 0): unknown {
  const shape = plain(given)
  if ('const' in shape && shape.const !== undefined) return shape.const
  if (shape.enum) return shape.enum[0]
  const choices = alternatives(shape)
  if (choices) return least(choices[0]!, index)
  const types = typesOf(shape)
  if (types.includes('object')) {
    const { properties = {}, required = [] } = shape
    return Object.fromEntries(required.map((name) => [name, least(properties[name] ?? {}, index)]))
  }
  if (types.includes('array')) return shape.items ? [least(shape.items, index)] : []
  if (types.includes('string')) return text(shape, index)
  if (types.includes('integer') || types.includes('number')) return shape.minimum ?? 1
  if (types.includes('boolean')) return true
  return types.includes('null') ? null : 'a'
}

const WORDS = ['a', 'https://a.example/a.png', 'en', '1024x1024', '1', '@preset/a']

function text({ pattern, minLength = 0 }: Shape, index: number): string {
  const fitting = WORDS.find((word) => !pattern || new RegExp(pattern).test(word)) ?? ''
  return (fitting === 'a' ? `a${index}` : fitting).padEnd(minLength, 'a')
}

/** Every way in which a value of a shape may grow, one at a time. */
export function growthsOf(given: Shape | TSchema, path = ''): Growth[] {
  const shape = plain(given as Shape)
  if (('const' in shape && shape.const !== undefined) || shape.enum) return []
  const choices = alternatives(shape)
  if (choices) return choices.flatMap((choice, index) => growthsOf(choice, `${path}|${index}`))
  const types = typesOf(shape)
  return [
    ...(types.includes('object') ? ofObject(shape, path) : []),
    ...(types.includes('array') ? ofArray(shape, path) : []),
    ...(types.includes('string') ? ofText(shape, path) : []),
    ...(types.length === 0 ? ofAnything(path) : []),
  ]
}

function ofObject(shape: Shape, path: string): Growth[] {
  const { properties = {} } = shape
  const inside = Object.entries(properties).flatMap(([name, property]) =>
    growthsOf(property, `${path}.${name}`).map(
      ({ make, ...growth }): Growth => ({
        ...growth,
        make: (count) => ({ ...(least(shape) as object), [name]: make(count) }),
      }),
    ),
  )
  const isOpen = shape.additionalProperties !== false
  // What says no more of itself than its type may be a schema, or hold one.
  const isKnown = Object.keys(properties).length > 1
  const more = isOpen ? ofAnything(path).filter((growth) => growth.isObject) : []
  return [
    ...inside,
    ...more.slice(0, isKnown ? 1 : undefined).map(({ make, ...growth }) => ({
      ...growth,
      make: (count: number) => ({ ...(least(shape) as object), ...(make(count) as object) }),
    })),
  ]
}

function ofArray(shape: Shape, path: string): Growth[] {
  const item = plain(shape.items ?? {})
  const kinds = alternatives(item) ?? [item]
  const most = shape.maxItems ?? SEVERAL
  return kinds.flatMap((kind, at) => [
    {
      name: `${path}[] of ${at}`,
      most: Math.min(most, SEVERAL),
      make: (count: number) => many(count, (index) => least(kind, index)),
    },
    ...growthsOf(kind, `${path}[${at}]`).map(({ make, ...growth }) => ({
      ...growth,
      make: (count: number) => [make(count)],
    })),
  ])
}

function ofText({ pattern, maxLength = TEXT_CHARS }: Shape, path: string): Growth[] {
  if (maxLength < LONG_CHARS) return []
  const isOf = (value: string) => !pattern || new RegExp(pattern).test(value)
  const starts = isOf('aaaa') ? [''] : ['https://', 'data:', 'data:image/png;base64,']
  return starts.flatMap((start) => {
    const fitting = PIECES.filter((piece) => isOf(start + upTo(12, piece)))
    // One piece for each place, and each piece in many places.
    const piece = fitting[path.length % fitting.length]
    if (piece === undefined) return []
    return {
      name: `${path}: text of ${JSON.stringify(start + piece)}`,
      most: Math.min(maxLength, TEXT_CHARS),
      make: (count: number) => start + upTo(count, piece),
    }
  })
}

/** What any function may be given: each piece as a long text, and lists and objects that are long, deep, or full of references. */
export const growingValues = (): Growth[] => [
  ...PIECES.map((piece) => ({
    name: `text of ${JSON.stringify(piece)}`,
    most: PLAIN_CHARS,
    make: (count: number) => upTo(count, piece),
  })),
  { name: 'texts', most: SEVERAL, make: (count) => many(count, String) },
  {
    name: 'objects',
    most: SEVERAL,
    make: (count) => many(count, (id) => ({ id, type: 'a', name: `${id}` })),
  },
  { name: 'names', most: SEVERAL, make: (count) => numbered(count, String) },
  { name: 'levels', most: DEEP, make: (count) => nested(count, (inner) => ({ a: [inner] })) },
  ...['references to one definition of many', 'definitions that refer to the next twice, in anyOf'].map(
    (name): Growth => ({ name, most: SCHEMAS[name]![0], make: (count) => holding(SCHEMAS[name]![1](count)) }),
  ),
]

/** A place where any JSON may be: as it is, and as the schema that it may be or have. */
function ofAnything(path: string): Array<Growth & { isObject: boolean }> {
  // In a list, such as tools, stand schemas themselves; beside lists what holds the schema of an answer.
  const places = path.includes('[') ? { '': (schema: object) => schema } : { ' (schema)': holding }
  const schemas = Object.entries(places).flatMap(([where, place]) =>
    Object.entries(SCHEMAS).map(([name, [most, make]]) => ({
      name: `${path}${where}: ${name}`,
      most,
      isObject: true,
      make: (count: number) => place(make(count)),
    })),
  )
  const long = ofText({}, path).map((growth) => ({ ...growth, isObject: false }))
  const lists = Object.entries<(index: number) => unknown>({
    texts: (index: number) => `a${index}`,
    objects: (index: number) => ({ id: index }),
  })
  return [
    ...schemas,
    ...long,
    ...lists.map(([name, entry]) => ({
      name: `${path}: ${name}`,
      most: SEVERAL,
      isObject: false,
      make: (count: number) => many(count, entry),
    })),
  ]
}

/** An object that asks for answers of a schema, in the words of every wire. */
const holding = (schema: object) => ({
  type: 'json_schema',
  name: 'a',
  schema,
  json_schema: { name: 'a', schema },
  format: { type: 'json_schema', name: 'a', schema },
})

const CHOICES = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const SINGLE = ['items', 'additionalProperties', 'not', 'if', 'contains', 'propertyNames']
const LISTS = ['enum', 'required', 'type', 'examples', 'propertyOrdering']
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

const numbered = (count: number, make: (index: number) => unknown) =>
  Object.fromEntries(many(count, (index) => [`k${index}`, make(index)]))
const refer = (index: number) => ({ $ref: `#/$defs/k${index}` })
const nested = (deep: number, around: (inner: object) => object): object =>
  many(deep, () => 0).reduce<object>((inner) => around(inner), { type: 'string' })

/** Schemas in which something grows, by what grows: the most of it, and how it is made. */
const SCHEMAS: Record<string, [most: number, make: (count: number) => object]> = {
  ...Object.fromEntries(
    [
      ...MAPS.map((keyword) => [keyword, numbered] as const),
      ...CHOICES.map((keyword) => [keyword, many] as const),
    ].map(([keyword, list]) => [
      `${keyword} of many`,
      [
        PARTS,
        (count: number) => ({
          type: 'object',
          [keyword]: list(count, (i) => ({ type: 'string', title: `${i}` })),
        }),
      ],
    ]),
  ),
  ...Object.fromEntries(
    LISTS.map((keyword) => [
      `${keyword} of many`,
      [PARTS, (count: number) => ({ properties: { k0: {} }, [keyword]: many(count, (i) => `k${i}`) })],
    ]),
  ),
  ...Object.fromEntries(
    [...SINGLE, ...CHOICES, ...MAPS].map((keyword) => [
      `${keyword} within ${keyword}`,
      [
        DEEP,
        (count: number) =>
          nested(count, (inner) => ({
            type: keyword === 'items' ? 'array' : 'object',
            [keyword]: SINGLE.includes(keyword) ? inner : CHOICES.includes(keyword) ? [inner] : { k0: inner },
          })),
      ],
    ]),
  ),
  ...Object.fromEntries(
    [...CHOICES, 'properties', 'items'].map((keyword) => [
      `types with ${keyword} within each other`,
      [
        DEEP,
        (count: number) =>
          nested(count, (inner) => ({
            type: [...TYPES, 'object'],
            [keyword]: keyword === 'items' ? inner : CHOICES.includes(keyword) ? [inner, {}] : { k0: inner },
          })),
      ],
    ]),
  ),
  ...Object.fromEntries(
    [...CHOICES, 'properties'].map((keyword) => [
      `definitions that refer to the next twice, in ${keyword}`,
      [
        DEEP,
        (count: number) => ({
          ...refer(0),
          $defs: numbered(count, (index) => ({
            type: 'object',
            [keyword]:
              keyword === 'properties'
                ? { a: refer(index + 1), b: refer(index + 1) }
                : many(2, () => refer(index + 1)),
          })),
        }),
      ],
    ]),
  ),
  'references to one definition of many': [
    PARTS,
    (count) => ({
      properties: numbered(count, () => refer(0)),
      $defs: { k0: { type: 'object', properties: numbered(count, () => ({})) } },
    }),
  ],
  'definitions that refer to each other in turn': [
    PARTS,
    (count) => ({ ...refer(0), $defs: numbered(count, (index) => ({ items: refer((index + 1) % count) })) }),
  ],
  'types with a long enum': [
    PARTS,
    (count) => ({ type: many(count, (i) => `${TYPES[i % 7]}`), enum: many(count, (i) => `${i}`) }),
  ],
  'unknown types with a long enum': [
    PARTS,
    (count) => ({ type: many(count, (i) => `t${i}`), enum: many(count, (i) => `${i}`) }),
  ],
  ...Object.fromEntries(
    ['description', 'pattern', '$ref', 'format', 'x-text'].map((keyword) => [
      `a long ${keyword}`,
      [TEXT_CHARS, (count: number) => ({ type: 'string', [keyword]: `#${upTo(count, '/(a+)~1')}` })],
    ]),
  ),
}

import { type Static, Type } from 'typebox'
import { nullable } from '../api/request-fields.ts'
import { invalid } from '../kernel/errors.ts'
import { type PicoUsd, type PicoUsdPerToken, parseRate, parseUsd, plainDecimal } from '../kernel/money.ts'

export const SORTS = ['price', 'throughput', 'latency'] as const
export type Sort = (typeof SORTS)[number]

/**
 * Which of a call's parameters its model must support: all; all but hints, which are left out where they are not
 * supported; or none, and all are sent.
 */
export type RequiredParameters = 'all' | 'but-hints' | 'none'

/** The request's `provider` object. */
export interface ProviderPreferences {
  order: string[]
  /** Undefined: every provider. */
  only: string[] | undefined
  ignore: string[]
  allowFallbacks: boolean
  requireParameters: RequiredParameters
  dataCollection: 'allow' | 'deny'
  zdr: boolean
  sort: Sort | undefined
  maxPrice: {
    prompt: PicoUsdPerToken | undefined
    completion: PicoUsdPerToken | undefined
    request: PicoUsd | undefined
  }
}

const names = Type.Array(Type.String(), {
  maxItems: 100,
  errorMessage: '`{param}` must be an array of at most 100 strings.',
})
const price = Type.Unknown({ description: 'USD, a number or a decimal string', documented: 'Price' })

/** A mistyped `zdr` must be rejected: it would route to a provider the client meant to exclude. */
const closed = (name: string, path: string, known: string) => ({
  additionalProperties: false,
  errorMessage: {
    type: `\`${name}\` must be an object.`,
    additionalProperties: `Unknown field. \`${path}\` takes: ${known}.`,
  },
})

const dataCollection = Type.Enum(['allow', 'deny'])

/** The shape of `provider`; prices are read by `parsePreferences`. */
export const Preferences = Type.Partial(
  Type.Object({
    order: nullable(names),
    only: nullable(names),
    ignore: nullable(names),
    allow_fallbacks: nullable(Type.Boolean()),
    require_parameters: nullable(Type.Boolean()),
    data_collection: nullable(dataCollection),
    zdr: nullable(Type.Boolean()),
    sort: nullable(Type.Enum([...SORTS])),
    max_price: nullable(
      Type.Object(
        { prompt: Type.Optional(price), completion: Type.Optional(price), request: Type.Optional(price) },
        closed('max_price', 'provider.max_price', 'prompt, completion, request'),
      ),
    ),
  }),
  closed(
    'provider',
    'provider',
    'order, only, ignore, allow_fallbacks, require_parameters, data_collection, zdr, sort, max_price',
  ),
)

/**
 * Reads a body's `provider`, with defaults.
 * @param required the parameters that are required if the request does not say
 */
export function parsePreferences(
  given: Static<typeof Preferences>,
  required: RequiredParameters = 'none',
): ProviderPreferences {
  return {
    order: given.order ?? [],
    only: given.only ?? undefined,
    ignore: given.ignore ?? [],
    allowFallbacks: given.allow_fallbacks ?? true,
    requireParameters:
      given.require_parameters == null ? required : given.require_parameters ? 'all' : 'none',
    dataCollection: given.data_collection ?? 'allow',
    zdr: given.zdr ?? false,
    sort: given.sort ?? undefined,
    maxPrice: parseMaxPrice(given.max_price ?? {}),
  }
}

function parseMaxPrice(given: Record<string, unknown>): ProviderPreferences['maxPrice'] {
  const price = <T>(field: string, decimals: number, parse: (text: string) => T): T | undefined => {
    if (given[field] == null) return undefined
    const text = plainDecimal(given[field], decimals)
    if (text === null) {
      throw invalid(`provider.max_price.${field}`, 'A price must be a number or decimal string of 0 or more.')
    }
    return parse(text)
  }
  return {
    prompt: price('prompt', 6, parseRate),
    completion: price('completion', 6, parseRate),
    request: price('request', 12, parseUsd),
  }
}

import { type Fields, isObject } from '../json/json-object.ts'

/**
 * Fields that concern how a provider stores, prices and caches a call. They decide nothing about routing: a provider that
 * takes one gets it, and others do not.
 */
export const PASSED_FIELDS = ['prompt_cache_key', 'safety_identifier', 'service_tier', 'user'] as const
export type PassedField = (typeof PASSED_FIELDS)[number]
export type PassedFields = { [Name in PassedField]?: string }

/** What a provider gets only if its quirk `passes` says so: end users, and other prices. */
export const UNUSUAL_FIELDS = PASSED_FIELDS.filter((name) => name !== 'prompt_cache_key')

/** The tiers with prices of their own. */
export const PRICED_TIERS = ['flex', 'priority'] as const
export type PricedTier = (typeof PRICED_TIERS)[number]

const VALUE_CHARS_MAX = 1_000
const TIERS: readonly string[] = ['default', ...PRICED_TIERS]

/** The fields of a body that are passed. */
export function passedFields(body: object): PassedFields | undefined {
  const given = PASSED_FIELDS.flatMap((name) => {
    const value = (body as Fields)[name]
    return isPassed(name, value) ? [[name, value] as const] : []
  })
  return given.length > 0 ? Object.fromEntries(given) : undefined
}

function isPassed(name: string, value: unknown): value is string {
  if (!PASSED_FIELDS.some((known) => known === name) || typeof value !== 'string' || value === '')
    return false
  return name === 'service_tier' ? TIERS.includes(value) : value.length <= VALUE_CHARS_MAX
}

/** Fields that the gateway reads itself, for the labels and the conversation of a call. */
const READ = ['metadata', 'conversation', 'conversation_id', 'session_id', 'thread_id']
/** Values that are the same as none. */
const EMPTY: Readonly<Record<string, (value: unknown) => boolean>> = {
  functions: isEmpty,
  logit_bias: isEmpty,
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
  service_tier: (value) => value === 'auto' || value === 'standard_only',
  truncation: (value) => value === 'disabled',
  usage: (value) => isObject(value) && Object.keys(value).every((name) => name === 'include'),
}

/** Whether a field is given with a value that would have an effect. */
export function isGiven(body: object, name: string): boolean {
  const value = (body as Fields)[name]
  return value != null && value !== false && EMPTY[name]?.(value) !== true
}

const NAME_CHARS_MAX = 64

/**
 * The fields of a body that have no effect, for `x-ignored-parameters`.
 * @param known the fields of the surface; those of objects with the names of their parts
 */
export function fieldsWithoutEffect(
  body: object,
  known: Readonly<Record<string, unknown>>,
  parts: Readonly<Record<string, readonly string[]>> = {},
): string[] {
  const names = Object.entries(body).flatMap(([name, value]) => {
    if (Object.hasOwn(parts, name) && isObject(value))
      return Object.keys(value)
        .filter((part) => !parts[name]!.includes(part) && isGiven(value, part))
        .map((part) => `${name}.${part}`)
    const hasEffect = Object.hasOwn(known, name) || READ.includes(name) || isPassed(name, value)
    return hasEffect || !isGiven(body, name) ? [] : [name]
  })
  // A header has no other characters.
  return names.map((name) => name.slice(0, NAME_CHARS_MAX).replace(/[^\w.[\]-]/g, '_'))
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

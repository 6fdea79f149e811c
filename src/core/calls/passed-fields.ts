import type { Fields } from '../json/json-object.ts'
import { addUnread, isGiven, plainName, type ReadMembers } from './unread-members.ts'

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

/**
 * The fields of a body that have no effect, for `x-ignored-parameters`.
 * @param known the fields of the surface
 * @param members what is read within those of which not all is
 */
export function fieldsWithoutEffect(
  body: object,
  known: Readonly<Record<string, unknown>>,
  members: ReadMembers = {},
): string[] {
  const names = new Set<string>()
  for (const [name, value] of Object.entries(body)) {
    if (Object.hasOwn(members, name)) addUnread(names, name, value, members[name]!)
    else if (Object.hasOwn(known, name) || READ.includes(name) || isPassed(name, value)) continue
    else if (isGiven(name, value)) names.add(plainName(name))
  }
  return [...names]
}

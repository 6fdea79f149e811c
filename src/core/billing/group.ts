import { createHash } from 'node:crypto'
import { cleanText } from '../kernel/clean-text.ts'
import type { LimitReset } from './allowance-period.ts'
import type { GroupScope } from './group-scopes.ts'

/** The budget of the project of a key, or the rule for every value of the tag or end user. */
export interface GroupRule {
  scope: GroupScope
  /** The project; empty: a rule for values. */
  value: string
  /** Of tags: the member of `metadata` that has the value. */
  tag: string | null
  /** Null: no limit. */
  limitPico: bigint | null
  limitReset: LimitReset
}

/** The limit of a group without one: more than any account has, and a 64-bit integer. */
export const UNLIMITED_PICO = 2n ** 62n

const VALUE_CHARS_MAX = 100

/**
 * The groups of a call: `project:<name>` of its key, and `tag:<tag>=<value>` and `user:<value>` that its body names, as far
 * as its account has rules. Undefined: none.
 */
export function readCallGroups(rules: readonly GroupRule[], body: unknown): string[] | undefined {
  const fields = membersOf(body)
  const metadata = membersOf(fields.metadata)
  const groups = rules.flatMap(({ scope, tag, value: project }) => {
    if (scope === 'project') return [`project:${project}`]
    const given = tag === null ? endUser(fields, metadata) : metadata[tag]
    const value = typeof given === 'string' ? shortValue(given) : undefined
    if (value === undefined) return []
    return [tag === null ? `user:${value}` : `tag:${tagValue(tag, value)}`]
  })
  return groups.length === 0 ? undefined : groups
}

/** The id of a value of a tag. Tags have no `=` in their names. */
export const tagValue = (tag: string, value: string): string => `${tag}=${value}`

/** Of the groups of a call, the id of the one of a scope. */
export const groupOf = (named: readonly string[], scope: GroupScope): string | undefined =>
  named.find((group) => group.startsWith(`${scope}:`))?.slice(scope.length + 1)

type Members = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}

/** The end user as the surfaces name them. */
const endUser = (fields: Members, metadata: Members): unknown =>
  fields.user ?? fields.safety_identifier ?? metadata.user_id

/** A long value is its hash, so that two that begin alike stay two. */
function shortValue(given: string): string | undefined {
  if (given.length <= VALUE_CHARS_MAX) return cleanText(given, VALUE_CHARS_MAX)
  return `sha256:${createHash('sha256').update(given).digest('hex')}`
}

import { type Fields, isObject } from '../json/json-object.ts'

/**
 * What is read of an object: its members by name. `true`: all of it; null: nothing, not even its type. A function decides by
 * the object. Of an array it is said of each element.
 */
export type Read = true | null | ReadMembers | ((value: Fields) => true | null | ReadMembers)
export interface ReadMembers {
  readonly [name: string]: Read
}

/** The most names that are collected, and the most characters of one. */
const NAMES_MAX = 32
const NAME_CHARS_MAX = 64

/** A name that clients chose, in the characters that a header takes. */
export const plainName = (name: string): string => name.slice(0, NAME_CHARS_MAX).replace(/[^\w.[\]-]/g, '_')

const isFalse = (value: unknown) => value === false
const hasNone = (value: unknown) => isObject(value) && Object.keys(value).length === 0
/** Values that are the same as none. */
const EMPTY: Readonly<Record<string, (value: unknown) => boolean>> = {
  logit_bias: hasNone,
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
  service_tier: (value) => value === 'auto' || value === 'standard_only',
  truncation: (value) => value === 'disabled',
  usage: (value) => isObject(value) && Object.keys(value).every((name) => name === 'include'),
  async: isFalse,
  defer_loading: isFalse,
  eager_input_streaming: isFalse,
  exclude: isFalse,
  include_obfuscation: isFalse,
  store: isFalse,
  strict: isFalse,
}

/** Whether a member is given with a value that would have an effect. */
export function isGiven(name: string, value: unknown): boolean {
  if (value == null || value === '' || (Array.isArray(value) && value.length === 0)) return false
  return !(Object.hasOwn(EMPTY, name) && EMPTY[name]!(value))
}

/**
 * Adds what is given within a value and not read, as paths without positions: `messages.content.citations`. Only what is
 * read is entered, so that it takes as long as there are members.
 */
export function addUnread(names: Set<string>, path: string, value: unknown, read: Read): void {
  if (read === true) return
  for (const each of Array.isArray(value) ? value : [value]) {
    if (!isObject(each)) continue
    if (names.size >= NAMES_MAX) return
    const members = typeof read === 'function' ? read(each) : read
    if (members === true) continue
    if (members === null) {
      names.add(`${path} (${plainName(String(each.type))})`)
      continue
    }
    for (const name of Object.keys(each)) {
      const member = Object.hasOwn(members, name) ? members[name] : undefined
      if (member === true) continue
      if (member !== undefined) addUnread(names, `${path}.${name}`, each[name], member)
      else if (isGiven(name, each[name]) && names.size < NAMES_MAX) names.add(`${path}.${plainName(name)}`)
    }
  }
}

import { createHash } from 'node:crypto'
import type { Fields } from '../json/json-object.ts'

/** The names of functions that every wire takes. The messages wire has longer ones, and other characters. */
const PORTABLE = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/
const KEPT_CHARACTERS = 50
const DIGEST_CHARACTERS = 12

/** The name of a function in a form that every wire takes; the same for the same name. */
export function portableName(name: string): string {
  if (PORTABLE.test(name)) return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST_CHARACTERS)
  return `_${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, KEPT_CHARACTERS)}_${digest}`
}

/** The name of the function for a tool, a call or a choice, whose `name` may be one within a `namespace`. */
export type FunctionNaming = (named: Fields) => unknown

/**
 * Joins the names of the tools in namespaces with those of their namespaces, portably. Each has its own within a request, the
 * same for the same tools; names without a namespace stay as they are, also those that are not valid.
 * @param taken the names of the tools without a namespace
 */
export function functionNaming(taken: Iterable<unknown>): FunctionNaming {
  const used = new Set(taken)
  const joined = new Map<string, string>()
  return ({ namespace, name }) => {
    if (typeof namespace !== 'string' || typeof name !== 'string' || !namespace || !name) return name
    const key = JSON.stringify([namespace, name])
    const known = joined.get(key)
    if (known !== undefined) return known
    const short = portableName(`${namespace}__${name}`)
    const own = used.has(short) ? portableName(key) : short
    used.add(own)
    joined.set(key, own)
    return own
  }
}

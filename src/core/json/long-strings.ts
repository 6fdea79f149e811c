import { randomName } from '../kernel/ids.ts'
import { isPlainBase64 } from '../media/data-url.ts'
import type { Fields } from './json-object.ts'

/**
 * Long base64 in JSON, such as the data of a picture: it is copied as bytes between a body and its strings, and the JSON
 * around it is parsed and written with a mark in its place.
 */

/** Shorter ones take no longer within their JSON. A body with one is long, so its nesting is limited before (bounded-parse.ts). */
export const LONG_CHARS = 64 * 1024

/** Begins the marks of this process. It is known to this process alone, so no text of a client has it. */
const MARK = randomName(18)
const markOf = (index: number) => `${MARK}${index};`

/** So much of a string shows that it is prose. */
const SHOWN_CHARS = 128
const BEGINNING = /^(?:data:[\w.+/;=-]*,)?[A-Za-z0-9+/]+$/

/** The bytes between two quotes as a string, if they are long base64 or a data URL of it; otherwise null. */
export function longString(json: Buffer, start: number, end: number): string | null {
  if (end - start < LONG_CHARS) return null
  if (!BEGINNING.test(json.toString('latin1', start, start + SHOWN_CHARS))) return null
  const string = json.toString('latin1', start, end)
  return isPlainBase64(string.slice(string.indexOf(',') + 1)) ? string : null
}

/** A long string, and where it begins and ends in its JSON. */
export interface LongString {
  string: string
  start: number
  end: number
}

/**
 * The value of JSON with these strings. Undefined if one of them is a name, or is overwritten by a second member of its name.
 * Throws as `parse`, which parses the rest.
 */
export function parseAround(
  json: Buffer,
  long: readonly LongString[],
  parse: (text: string) => unknown,
): unknown {
  let text = ''
  let from = 0
  for (const [index, { start, end }] of long.entries()) {
    text += json.toString('utf8', from, start) + markOf(index)
    from = end
  }
  const value = parse(text + json.toString('utf8', from))
  return putBack(value, long) === long.length ? value : undefined
}

/** Replaces the marks in a value that was just parsed. Returns how many. */
function putBack(value: unknown, long: readonly LongString[]): number {
  if (typeof value !== 'object' || value === null) return 0
  let found = 0
  const members = value as Fields
  for (const name in members) {
    if (found === long.length) break
    const child = members[name]
    if (typeof child !== 'string') found += putBack(child, long)
    else if (child.startsWith(MARK)) {
      members[name] = long[Number.parseInt(child.slice(MARK.length), 10)]!.string
      found++
    }
  }
  return found
}

/**
 * A copy of a value, whose nesting is limited, with marks instead of long base64. `restore` puts it back into JSON that was made
 * of the copy, as bytes if there is any.
 */
export function markLongStrings<T>(given: T) {
  const strings: string[] = []
  return {
    value: marked(given, strings) as T,
    restore: (json: string | Buffer): string | Buffer =>
      strings.length === 0 ? json : joined(typeof json === 'string' ? Buffer.from(json) : json, strings),
  }
}

function marked(value: unknown, strings: string[]): unknown {
  if (typeof value === 'string')
    return value.length < LONG_CHARS || !isPlainBase64(value) ? value : markOf(strings.push(value) - 1)
  if (typeof value !== 'object' || value === null) return value
  const members = value as Fields
  let copy: Fields | null = null
  for (const name in members) {
    const child = members[name]
    const changed = marked(child, strings)
    if (changed === child) continue
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Fields
    copy[name] = changed
  }
  return copy ?? value
}

function joined(json: Buffer, strings: readonly string[]): Buffer {
  const pieces: Array<Buffer | string> = []
  let from = 0
  for (let at = json.indexOf(MARK); at >= 0; at = json.indexOf(MARK, from)) {
    const end = json.indexOf(';', at)
    pieces.push(json.subarray(from, at), strings[Number(json.toString('latin1', at + MARK.length, end))]!)
    from = end + 1
  }
  pieces.push(json.subarray(from))
  const bytes = Buffer.allocUnsafe(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces)
    at += typeof piece === 'string' ? bytes.write(piece, at, 'latin1') : piece.copy(bytes, at)
  return bytes
}

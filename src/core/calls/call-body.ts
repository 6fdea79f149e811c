import { parseAroundLong } from '../json/client-json.ts'
import { type Fields, isObject } from '../json/json-object.ts'
import type { SentJson } from '../json/json-text.ts'
import { LONG_CHARS, markLongStrings } from '../json/long-strings.ts'
import type { ChatMessage } from './chat-request.ts'
import { inlineChars, parseContentPart } from './content-part.ts'
import { type CallContent, kindOf } from './kinds/call-kinds.ts'

/**
 * The content of a call as it is sealed for its worker: as JSON; or, where it has long media or members whose received bytes are
 * known, in parts: `2`, the lengths as JSON, a line feed, the JSON of the rest, and the members as they were received. All
 * of it is UTF-8.
 */
const IN_PARTS = '2'
const LINE_FEED = 0x0a

/** The beginning of a body in parts. */
interface Lengths {
  /** Bytes of the rest. */
  rest: number
  /** Where each member belongs, and its bytes, in their order. */
  sent: Array<[path: string[], bytes: number]>
  /** Whether some of it is long base64, which is copied and not parsed. */
  isLong: boolean
}

/** Returns bytes where it is in parts. */
export function writeBody(content: CallContent): string | Buffer {
  const { kind } = content
  const written = { ...(kindOf(content).write?.(content) ?? content), kind }
  const sent = sentMembers(written, sentJsonOf(content))
  const isLong = hasLongMedia(content)
  if (sent.length === 0 && !isLong) return JSON.stringify(written)
  const rest = sent.reduce((object, { path }) => withMember(object, path, undefined), written as Fields)
  const { value, restore } = isLong ? markLongStrings(rest) : { value: rest, restore: UNMARKED }
  const json = bytesOf(restore(JSON.stringify(value)))
  const lengths: Lengths = {
    rest: json.length,
    sent: sent.map(({ path, bytes }) => [path, bytes.length]),
    isLong,
  }
  const head = Buffer.from(`${IN_PARTS}${JSON.stringify(lengths)}\n`)
  return Buffer.concat([head, json, ...sent.map(({ bytes }) => bytes)])
}

/** Reverses `writeBody`, of this version and of the one before. Throws where the body is not valid. */
export function readBody(given: string | Buffer): CallContent {
  const body = bytesOf(given)
  if (body.toString('latin1', 0, 1) !== IN_PARTS) return contentOf(JSON.parse(body.toString()))
  const start = body.indexOf(LINE_FEED) + 1
  const { rest, sent, isLong } = JSON.parse(body.toString('utf8', IN_PARTS.length, start)) as Lengths
  const parse = isLong ? parseAroundLong : parseBytes
  let end = start + rest
  let written = parse(body.subarray(start, end)) as Fields
  const sentJson = new Map<unknown, Uint8Array>()
  for (const [path, length] of sent) {
    const bytes = body.subarray(end, end + length)
    end += length
    const value = path.length === 1 ? readSentMessages(parse(bytes)) : parse(bytes)
    written = withMember(written, path, value)
    sentJson.set(value, bytes)
  }
  if (end !== body.length) throw new Error('the body of a call is cut')
  return { ...contentOf(written), ...(sent.length > 0 && { sentJson }) } as CallContent
}

const bytesOf = (text: string | Buffer): Buffer => (typeof text === 'string' ? Buffer.from(text) : text)

const parseBytes = (json: Buffer): unknown => JSON.parse(json.toString())

const contentOf = (written: Fields): CallContent => {
  const content = written as unknown as CallContent
  return kindOf(content).read?.(written) ?? content
}

const sentJsonOf = (content: CallContent) => ('sentJson' in content ? content.sentJson : undefined)

const hasLongMedia = (content: CallContent): boolean =>
  kindOf(content)
    .media(content)
    .some((part) => inlineChars(part) >= LONG_CHARS)

const UNMARKED = (json: string | Buffer): string | Buffer => json

/** A content with marks instead of its long media, and what puts them back into JSON. */
export function withMarkedMedia(content: CallContent): ReturnType<typeof markLongStrings<CallContent>> {
  if (!hasLongMedia(content)) return { value: content, restore: UNMARKED }
  const { value, restore } = markLongStrings({ ...content, sentJson: undefined })
  const sent = sentMembers(content, sentJsonOf(content))
  const sentJson = new Map(sent.map(({ path, bytes }) => [memberAt(value, path), bytes]))
  return { value: { ...value, ...(sent.length > 0 && { sentJson }) } as CallContent, restore }
}

/** The members of an object, and of its own members, whose received bytes are known. */
function sentMembers(object: object, sentJson: SentJson | undefined) {
  const found: Array<{ path: string[]; bytes: Uint8Array }> = []
  if (!sentJson) return found
  for (const [name, value] of Object.entries(object)) {
    const bytes = sentJson.get(value)
    if (bytes) found.push({ path: [name], bytes })
    else if (isObject(value) && !Array.isArray(value))
      for (const [inner, member] of Object.entries(value)) {
        const bytes = sentJson.get(member)
        if (bytes) found.push({ path: [name, inner], bytes })
      }
  }
  return found
}

const memberAt = (object: unknown, path: readonly string[]): unknown =>
  path.reduce((value, name) => (value as Fields)[name], object)

/** A copy of an object with another value at a path. */
const withMember = (object: Fields, [name, ...inner]: readonly string[], value: unknown): Fields => ({
  ...object,
  [name!]: inner.length === 0 ? value : withMember(object[name!] as Fields, inner, value),
})

/** The messages that say what these of a client do, which `sentMessages` found to be as they were read. */
const readSentMessages = (given: unknown): ChatMessage[] =>
  (given as ChatMessage[]).map(({ content, ...message }) => ({
    ...message,
    content: Array.isArray(content)
      ? content.map((part) => parseContentPart(part, message.role, 'messages'))
      : (content ?? ''),
  }))

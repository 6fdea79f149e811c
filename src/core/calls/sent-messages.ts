import { type Fields, isObject } from '../json/json-object.ts'
import type { SentJson } from '../json/json-text.ts'
import type { ToolCall } from './completion.ts'
import { type ContentPart, isAddress } from './content-part.ts'

/** What decides of a message whether it is sent as it was given; see ChatMessage. */
interface ReadMessage {
  content: string | readonly ContentPart[]
  tool_calls?: readonly ToolCall[]
  reasoning?: string
}

/**
 * The received bytes of a body, also by its messages as they were read, if the client's say the same on the wire and
 * nothing else.
 */
export function sentMessages(
  messages: readonly ReadMessage[],
  given: readonly unknown[],
  sentJson: SentJson | undefined,
): SentJson | undefined {
  const bytes = sentJson?.get(given)
  if (!sentJson || !bytes || messages.length !== given.length) return sentJson
  const isSame = messages.every((message, index) => isMessage(given[index], message))
  return isSame ? new Map([...sentJson, [messages, bytes]]) : sentJson
}

function isMessage(given: unknown, message: ReadMessage): boolean {
  const { reasoning, content, tool_calls: calls, ...rest } = message
  if (reasoning !== undefined || !hasOnly(given, message)) return false
  if (!Object.entries(rest).every(([name, value]) => given[name] === value)) return false
  if (calls && !isEach(given.tool_calls, calls, isCall)) return false
  // A turn that only calls tools has null content on the wire, and an empty one here.
  if (typeof content === 'string') return given.content === (calls && content.trim() === '' ? null : content)
  return isEach(given.content, content, isPart)
}

/** Whether an object has these names and no other. */
function hasOnly(given: unknown, names: object): given is Fields {
  if (!isObject(given)) return false
  const own = Object.keys(given)
  return own.length === Object.keys(names).length && own.every((name) => name in names)
}

const isEach = <Read>(given: unknown, read: readonly Read[], is: (one: unknown, of: Read) => boolean) =>
  Array.isArray(given) && given.length === read.length && read.every((of, index) => is(given[index], of))

const isCall = (given: unknown, { id, type, function: { name, arguments: json } }: ToolCall): boolean =>
  hasOnly(given, { id, type, function: true }) &&
  given.id === id &&
  given.type === type &&
  hasOnly(given.function, { name, arguments: json }) &&
  given.function.arguments === json

function isPart(given: unknown, part: ContentPart): boolean {
  if (part.type === 'text') return hasOnly(given, part) && given.type === 'text' && given.text === part.text
  if (part.type !== 'image' || part.cacheBreakpoint) return false
  const { source, detail } = part
  if (!hasOnly(given, { type: 'image_url', image_url: source }) || given.type !== 'image_url') return false
  const image = given.image_url
  if (!hasOnly(image, { url: true, ...(detail !== undefined && { detail }) }) || image.detail !== detail)
    return false
  const { url } = image
  if (isAddress(source)) return url === source.url
  const head = `data:${source.mediaType};base64,`
  return typeof url === 'string' && url.startsWith(head) && url.slice(head.length) === source.base64
}

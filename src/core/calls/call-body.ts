import { parseClientJson } from '../json/client-json.ts'
import { LONG_CHARS, markLongStrings } from '../json/long-strings.ts'
import { inlineChars } from './content-part.ts'
import { type CallContent, kindOf } from './kinds/call-kinds.ts'

/** The content of a call as the JSON that is sealed for its worker: bytes if it has long media. */
export function writeBody(given: CallContent): string | Buffer {
  const { value: content, restore } = withMarkedMedia(given)
  const { kind } = content
  return restore(JSON.stringify({ ...(kindOf(content).write?.(content) ?? content), kind }))
}

/** A content with marks instead of its long media, and what puts them back into JSON. */
export const withMarkedMedia = (content: CallContent): ReturnType<typeof markLongStrings<CallContent>> => {
  const media = kindOf(content).media(content)
  return media.some((part) => inlineChars(part) >= LONG_CHARS)
    ? markLongStrings({ ...content, sentJson: undefined })
    : { value: content, restore: (json) => json }
}

const ANY_SIZE = { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY }

/** Reverses `writeBody`. Throws ApiError where the body is not valid. */
export function readBody(body: string | Buffer): CallContent {
  const content = parsed(body) as CallContent
  return kindOf(content).read?.({ ...content }) ?? content
}

function parsed(body: string | Buffer): unknown {
  if (typeof body === 'string') return JSON.parse(body)
  const read = parseClientJson(body, ANY_SIZE)
  if (read.kind !== 'value') throw new Error('the body of a call is no JSON')
  return read.value
}

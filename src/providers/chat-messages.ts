import type { ChatMessage } from '../core/calls/chat-request.ts'
import { type Address, type ContentPart, type InlineData, isAddress } from '../core/calls/content-part.ts'
import type { ProviderQuirks } from '../core/catalog/catalog.ts'
import {
  hasToolCalls,
  haveToolIds,
  portableId,
  shortId,
  signedBy,
  textsOf,
  toConversation,
  withToolIds,
} from './conversation.ts'

/**
 * Messages in the form that a provider of the chat-completions wire takes.
 * @param instruction a system message that is put first; null for none
 * @param cachesPrompt whether breakpoints of the prompt cache are sent, if the provider takes them
 * @param maker gets what it signed of earlier turns
 */
export function messagesFor(
  messages: readonly ChatMessage[],
  instruction: string | null,
  quirks: ProviderQuirks,
  cachesPrompt = false,
  maker?: string,
): readonly object[] {
  const { namedRoles, prefillField } = quirks
  const marks = cachesPrompt && quirks.cacheMarks === true
  let sent = historyFor(messages, quirks)
  if (namedRoles) {
    sent = sent.map(({ name, ...message }) =>
      name !== undefined && namedRoles.includes(message.role) ? { ...message, name } : message,
    )
  }
  if (instruction !== null) sent = [{ role: 'system', content: instruction }, ...sent]
  const last = sent.at(-1)
  const wired = sent.map((message) => toWire(message, quirks, marks, maker))
  if (prefillField && last?.role === 'assistant') wired.push({ ...wired.pop(), [prefillField]: true })
  return wired
}

/** Whether `messagesFor` without an instruction would change nothing of messages without breakpoints and reasoning. */
export function isTakenAsSent(
  messages: readonly ChatMessage[],
  { namedRoles, prefillField, shortToolIds, developerRole, reasoningHistory }: ProviderQuirks,
): boolean {
  if (prefillField && messages.at(-1)?.role === 'assistant') return false
  const hasCalls = hasToolCalls(messages)
  if (hasCalls && (shortToolIds || reasoningHistory || !haveToolIds(messages, portableId))) return false
  return messages.every((message) => {
    if (isBlankTurn(message) && !message.tool_calls) return false
    if (message.name !== undefined && namedRoles) return false
    return (message.role !== 'developer' || developerRole) && (message.role !== 'tool' || hasCalls)
  })
}

/** The history without what strict servers of this wire refuse. */
export function historyFor(
  messages: readonly ChatMessage[],
  { shortToolIds }: ProviderQuirks,
): readonly ChatMessage[] {
  if (hasToolCalls(messages)) {
    const saying = messages.filter((message) => message.tool_calls || !isBlankTurn(message))
    return withToolIds(saying, shortToolIds ? shortId : portableId)
  }
  return messages.some((message) => message.role === 'tool' || isBlankTurn(message))
    ? asTurns(messages)
    : messages
}

/** An assistant's turn that is empty, or is empty without its tool calls. */
const isBlankTurn = ({ role, content }: ChatMessage): boolean =>
  role === 'assistant' && typeof content === 'string' && content.trim() === ''

/**
 * Converts a history that has tool results without their calls to user and assistant turns that alternate, after one
 * system message. The wire requires that results follow their calls; many of its servers also refuse empty turns, two
 * consecutive turns of one role, and later system messages.
 */
function asTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  const { system, turns } = toConversation(messages)
  return [
    ...(system.length > 0 ? [{ role: 'system' as const, content: system.join('\n\n') }] : []),
    ...turns.map(({ role, parts }) => {
      const texts = textsOf(parts)
      // Parts that are all text become one text, which every server takes.
      const isText = texts.length === parts.length
      return { role, content: isText ? texts.join('\n\n') : (parts as ContentPart[]) }
    }),
  ]
}

function toWire(
  message: ChatMessage,
  { developerRole, reasoningHistory }: ProviderQuirks,
  marks: boolean,
  maker: string | undefined,
): object {
  const { role, content, tool_calls: calls, reasoning, signed: _, ...rest } = message
  const signed = signedBy(maker, message)
  const details = signed.flatMap(({ call, value }) => (call === undefined ? value : []))
  const parts =
    typeof content === 'string'
      ? content
      : content.map((part) =>
          marks && part.cacheBreakpoint ? { ...toWirePart(part), ...CACHE_MARK } : toWirePart(part),
        )
  return {
    role: role === 'developer' && !developerRole ? 'system' : role,
    content: calls && isBlankTurn(message) ? null : parts,
    ...rest,
    ...(calls && {
      tool_calls: calls.map((call) => {
        const own = signed.find((each) => each.call === call.id)
        return own ? { ...call, extra_content: own.value } : call
      }),
    }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls && reasoningHistory && { reasoning_content: reasoning ?? '' }),
  }
}

const CACHE_MARK = { cache_control: { type: 'ephemeral' } }

function toWirePart(part: ContentPart): object {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image': {
      const { source, detail } = part
      return { type: 'image_url', image_url: { url: urlOf(source), ...(detail && { detail }) } }
    }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.source.base64, format: part.format } }
    case 'video':
      return { type: 'video_url', video_url: { url: urlOf(part.source) } }
    case 'file': {
      const { source, filename } = part
      return { type: 'file', file: { ...(filename !== undefined && { filename }), file_data: urlOf(source) } }
    }
    default:
      return part satisfies never
  }
}

export const urlOf = (source: InlineData | Address): string =>
  isAddress(source) ? source.url : `data:${source.mediaType};base64,${source.base64}`

import { type Fields, isObject } from '../json/json-object.ts'
import { jsonOf } from '../json/json-text.ts'
import { invalid } from '../kernel/errors.ts'
import { createTextBound } from '../text-tokens/text-bound.ts'
import type { ChatMessage } from './chat-request.ts'
import { isSealed, type OpenReasoning, type SignedReasoning, type ToolCall } from './completion.ts'
import { type ContentPart, parseSource, partOfData } from './content-part.ts'
import {
  addedTool,
  changesTools,
  makersTokens,
  makersTypes,
  PROVIDER_RESULTS,
  referredTools,
  textsOfResult,
  toolsOf,
} from './makers-tools.ts'
import type { NativeRequest } from './messages-wire.ts'

const ROLES = ['user', 'assistant', 'system'] as const
type NativeRole = (typeof ROLES)[number]

/** The blocks allowed in the turns of a role and in other blocks. What others cost, or who reads them, is not known. */
const BLOCKS = {
  system: ['text', 'tool_addition', 'tool_removal'],
  user: ['text', 'image', 'document', 'search_result', 'tool_result'],
  assistant: [
    'text',
    'thinking',
    'redacted_thinking',
    'tool_use',
    'server_tool_use',
    'compaction',
    ...PROVIDER_RESULTS,
  ],
  tool_result: ['text', 'image', 'document', 'search_result', 'tool_reference'],
  document: ['text', 'image'],
  search_result: ['text'],
} as const satisfies Record<string, readonly string[]>

/**
 * Reads the prompt of a request on the messages wire as messages of an extended chat request: targets of other wires get
 * these, and the hold, the token count and `auto` use them for every target. Thinking becomes the reasoning of its turn,
 * with signatures only as far as they open: others are of targets of this wire. Throws ApiError `invalid_request` with the path of
 * the problem.
 */
export function toChatMessages(system: unknown, messages: unknown, open: OpenReasoning): ChatMessage[] {
  const first = system == null ? [] : toMessages('system', system, 'system', open)
  const turns = (messages as unknown[]).flatMap((message, index) => {
    const path = `messages[${index}]`
    if (!isObject(message)) throw invalid(path, 'Each message must be an object.')
    const role = ROLES.find((known) => known === message.role)
    if (!role) throw invalid(`${path}.role`, `\`role\` must be one of ${ROLES.join(', ')}.`)
    return toMessages(role, message.content, `${path}.content`, open)
  })
  return [...first, ...resultsFirst(turns)]
}

/**
 * Puts results of tools directly after their calls, before other messages of the same turn. Consecutive turns of the
 * assistant are one, whose results follow together.
 */
function resultsFirst(messages: readonly ChatMessage[]): ChatMessage[] {
  const sorted: ChatMessage[] = []
  let turns: ChatMessage[] = []
  let others: ChatMessage[] = []
  const endTurn = () => {
    if (turns.length > 0) sorted.push(joinTurns(turns))
    turns = []
  }
  for (const message of messages) {
    if (message.role === 'tool') {
      endTurn()
      sorted.push(message)
    } else if (message.role !== 'assistant') others.push(message)
    else {
      if (others.length > 0) {
        endTurn()
        sorted.push(...others)
        others = []
      }
      turns.push(message)
    }
  }
  endTurn()
  return [...sorted, ...others]
}

function joinTurns(turns: readonly ChatMessage[]): ChatMessage {
  if (turns.length === 1) return turns[0]!
  const calls = turns.flatMap((turn) => turn.tool_calls ?? [])
  const reasoning = turns.map((turn) => turn.reasoning ?? '').join('')
  const signed = turns.flatMap((turn) => turn.signed ?? [])
  const texts = turns.map(({ content }) => content).filter((text) => text !== '')
  return {
    role: 'assistant',
    content: texts.join('\n'),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(reasoning !== '' && { reasoning }),
    ...(signed.length > 0 && { signed }),
  }
}

/** The messages of one turn: results of tools are separate messages. */
function toMessages(role: NativeRole, content: unknown, path: string, open: OpenReasoning): ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }]
  if (!Array.isArray(content))
    throw invalid(path, `\`${path}\` must be a string or an array of content blocks.`)
  const blocks = content.map((block, index) => readBlock(block, BLOCKS[role], `${path}[${index}]`))
  switch (role) {
    case 'system':
      return blocks.length > 0 ? [{ role, content: joined(toText(blocks, path), '\n\n') }] : []
    case 'user':
      return toUserMessages(blocks, path)
    case 'assistant':
      return toAssistantMessage(blocks, path, open)
    default:
      return role satisfies never
  }
}

/** Media in results of tools follow in the user's message, because a tool message has only text. */
function toUserMessages(blocks: readonly Fields[], path: string): ChatMessage[] {
  const results: ChatMessage[] = []
  const parts: ContentPart[] = []
  for (const [index, block] of blocks.entries()) {
    const at = `${path}[${index}]`
    if (block.type !== 'tool_result') {
      parts.push(...toParts(block, at))
      continue
    }
    const { message, media } = toToolMessage(block, at)
    results.push(message)
    if (media.length > 0) parts.push(text(`Content of the tool result ${message.tool_call_id}:`), ...media)
  }
  return [...results, ...(parts.length > 0 ? [{ role: 'user', content: parts } as const] : [])]
}

function toToolMessage({ tool_use_id: id, content = [], is_error: isError }: Fields, path: string) {
  if (typeof id !== 'string')
    throw invalid(`${path}.tool_use_id`, 'A tool result names the `tool_use_id` it answers.')
  const parts =
    typeof content === 'string' ? [text(content)] : partsOf(content, BLOCKS.tool_result, `${path}.content`)
  const said = joined(parts, '\n')
  const message = {
    role: 'tool' as const,
    content: isError === true ? `Error: ${said}` : said,
    tool_call_id: id,
  }
  return { message, media: parts.filter((part) => part.type !== 'text') }
}

function toAssistantMessage(blocks: readonly Fields[], path: string, open: OpenReasoning): ChatMessage[] {
  if (blocks.length === 0) return []
  const texts: ContentPart[] = []
  const calls: ToolCall[] = []
  const signed: SignedReasoning[] = []
  let reasoning = ''
  for (const [index, block] of blocks.entries()) {
    const at = `${path}[${index}]`
    const sealed = sealedIn(block)
    if (sealed !== undefined) signed.push(...(open(sealed)?.signed ?? []))
    if (block.type === 'tool_use') calls.push(toToolCall(block, at))
    else if (block.type === 'thinking') reasoning += string(block.thinking ?? '', `${at}.thinking`)
    // Other targets get what the tools of the provider said, and not their calls.
    else if (block.type !== 'redacted_thinking' && block.type !== 'server_tool_use')
      texts.push(...toParts(block, at))
  }
  return [
    {
      role: 'assistant',
      content: joined(texts, ''),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(reasoning !== '' && { reasoning }),
      ...(calls.length > 0 && signed.length > 0 && { signed }),
    },
  ]
}

/** What this gateway sealed of a block of thinking. */
const sealedIn = ({ type, signature, data }: Fields): string | undefined =>
  type === 'thinking' || type === 'redacted_thinking' ? [signature, data].find(isSealed) : undefined

const toToolCall = ({ id, name, input }: Fields, path: string): ToolCall => ({
  id: string(id, `${path}.id`),
  type: 'function',
  function: { name: string(name, `${path}.name`), arguments: JSON.stringify(input ?? {}) },
})

const toText = (blocks: readonly Fields[], path: string): ContentPart[] =>
  blocks.flatMap((block, index) => toParts(block, `${path}[${index}]`))

/** The text of the text parts. */
const joined = (parts: readonly ContentPart[], separator: string): string =>
  parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join(separator)

function readBlock(block: unknown, known: readonly string[], path: string): Fields {
  if (!isObject(block)) throw invalid(path, 'Each content block must be an object with a `type`.')
  if (!known.includes(block.type as string))
    throw invalid(
      `${path}.type`,
      `A content block of type \`${String(block.type).slice(0, TYPE_CHARS_MAX)}\` is not supported here: its \`type\` must be one of ${known.join(', ')}.`,
    )
  return block
}

/** The text and the media of blocks within a block. */
function partsOf(blocks: unknown, known: readonly string[], path: string): ContentPart[] {
  if (!Array.isArray(blocks)) throw invalid(path, `\`${path}\` must be an array of content blocks.`)
  return blocks.flatMap((block, index) => {
    const at = `${path}[${index}]`
    return toParts(readBlock(block, known, at), at)
  })
}

/** Of a type in an error. */
export const TYPE_CHARS_MAX = 64

/** The text and the media of a block. */
function toParts(block: Fields, path: string): ContentPart[] {
  switch (block.type) {
    case 'text':
      return [text(string(block.text, `${path}.text`))]
    case 'image':
      return toMedia(block.source, 'image', `${path}.source`)
    case 'document':
      return [...headings(block, ['title', 'context']), ...toMedia(block.source, 'file', `${path}.source`)]
    case 'search_result':
      return [
        ...headings(block, ['title', 'source']),
        ...partsOf(block.content, BLOCKS.search_result, `${path}.content`),
      ]
    case 'tool_reference':
      return [text(`Found the tool ${string(block.tool_name, `${path}.tool_name`)}.`)]
    case 'tool_addition':
    case 'tool_removal':
      return toToolChange(block, path)
    case 'compaction':
      return block.content == null ? [] : [text(string(block.content, `${path}.content`))]
    default:
      if (PROVIDER_RESULTS.some((type) => type === block.type)) return toResult(block, path)
      throw new Error(`a block of type ${String(block.type)} has no parts`)
  }
}

function toToolChange(block: Fields, path: string): ContentPart[] {
  if (!isObject(block.tool)) throw invalid(`${path}.tool`, 'Send an object with a `type`.')
  const { name } = addedTool(block) ?? block.tool
  const change = block.type === 'tool_addition' ? 'now' : 'no longer'
  return [text(`The tool ${string(name, `${path}.tool.name`)} is ${change} available.`)]
}

/** A result of a tool of the provider, for targets that cannot run it. */
function toResult({ type, tool_use_id: id, content }: Fields, path: string): ContentPart[] {
  string(id, `${path}.tool_use_id`)
  const tool = String(type).replace('_tool_result', '')
  return [text([`Result of ${tool}:`, ...textsOfResult(content)].join('\n'))]
}

/** What describes a block beside its content, as one text. */
function headings(block: Fields, names: readonly string[]): ContentPart[] {
  const lines = names.flatMap((name) => (typeof block[name] === 'string' ? `${name}: ${block[name]}` : []))
  return lines.length > 0 ? [text(lines.join('\n'))] : []
}

function toMedia(source: unknown, named: 'image' | 'file', path: string): ContentPart[] {
  if (!isObject(source)) throw invalid(path, 'Send an object with a `type`.')
  switch (source.type) {
    case 'base64': {
      const mediaType = string(source.media_type, `${path}.media_type`)
      return [partOfData(mediaType, string(source.data, `${path}.data`), `${path}.data`)]
    }
    case 'url':
      return [parseSource(string(source.url, `${path}.url`), named, `${path}.url`)]
  }
  if (named === 'file' && source.type === 'text') return [text(string(source.data, `${path}.data`))]
  if (named === 'file' && source.type === 'content') {
    const { content } = source
    if (typeof content === 'string') return [text(content)]
    return partsOf(content, BLOCKS.document, `${path}.content`)
  }
  const known = named === 'file' ? 'base64, url, text, content' : 'base64, url'
  throw invalid(
    `${path}.type`,
    `The \`type\` of this source must be one of ${known}. File ids are not supported.`,
  )
}

/** What providers add to a prompt for thinking and for citations. Neither is published, so the values are generous. */
const TOKENS_OF_THINKING = 200
const TOKENS_OF_CITATIONS = 1_500

/**
 * What a native target counts and `toChatMessages` leaves out, as texts: redacted thinking, thinking of turns without
 * calls, tools of the provider with their results, fields of tools, and the definition of a tool at each place that refers to
 * it.
 */
function* unreadTexts(request: NativeRequest): Iterable<string> {
  const definitions = new Map<unknown, Fields>()
  for (const tool of toolsOf(request)) {
    const { name, description: _d, input_schema: _s, cache_control: _c, ...rest } = tool
    if (Object.keys(rest).length > 0) yield JSON.stringify(rest)
    definitions.set(name, tool)
  }
  for (const { content } of request.messages as Fields[]) {
    if (!Array.isArray(content)) continue
    for (const block of content as Fields[]) {
      if (block.type === 'redacted_thinking' && sealedIn(block) === undefined) yield String(block.data)
      if (block.type === 'thinking') yield String(block.thinking)
      if (block.type === 'server_tool_use' || PROVIDER_RESULTS.some((type) => type === block.type))
        yield JSON.stringify(block)
      for (const name of referredTools(block)) {
        const tool = definitions.get(name)
        if (tool) yield jsonOf(tool)
      }
    }
  }
}

/** A bound of the tokens that a native request adds to those of its messages. */
export function extrasBound(request: NativeRequest): number {
  const { thinking, messages } = request
  const cites = (messages as Fields[]).some(
    ({ content }) =>
      Array.isArray(content) &&
      content.some(({ citations }: Fields) => isObject(citations) && citations.enabled === true),
  )
  const boundOf = createTextBound()
  let unread = 0
  for (const unreadText of unreadTexts(request)) unread += boundOf(unreadText)
  return (
    unread +
    makersTokens(makersTypes(request)) +
    (thinking === undefined ? 0 : TOKENS_OF_THINKING) +
    (cites ? TOKENS_OF_CITATIONS : 0)
  )
}

/**
 * Removes the explicit writes to the prompt cache of a request, for targets without cache prices. Caching changes the
 * price of a prompt and nothing of its completion.
 */
export const withoutCaching = (native: NativeRequest): NativeRequest =>
  changeMarked(native, ({ cache_control: _, ...marked }) => marked)

/** The field that keeps a part of the prompt in the cache for an hour, as a parameter. */
export const HOUR_IN_CACHE = 'cache_control.ttl'

/** Whether a request, or one of its blocks, tools and messages, writes to the prompt cache for more than five minutes. */
export function hasLongCaching(native: NativeRequest): boolean {
  const isLong = ({ cache_control: cache }: Fields) =>
    isObject(cache) && cache.ttl != null && cache.ttl !== '5m'
  const hasLong = (blocks: unknown): boolean =>
    Array.isArray(blocks) &&
    blocks.some((block) => isObject(block) && (isLong(block) || hasLong(block.content)))
  return isLong(native) || [native.system, native.tools, native.messages].some(hasLong)
}

/** The request with writes to the prompt cache that last five minutes: longer ones cost more than is held. */
export function withShortCaching(native: NativeRequest): NativeRequest {
  if (!hasLongCaching(native)) return native
  return changeMarked(native, (marked) => {
    if (!isObject(marked.cache_control)) return marked
    const { ttl: _, ...control } = marked.cache_control
    return { ...marked, cache_control: control }
  })
}

/** Changes everything that may have a cache mark: the request, and its blocks, tools and messages. */
function changeMarked(native: NativeRequest, change: (marked: Fields) => Fields): NativeRequest {
  const within = (blocks: unknown): unknown =>
    Array.isArray(blocks) ? blocks.map((block) => (isObject(block) ? changed(block) : block)) : blocks
  const changed = (block: Fields): Fields => {
    const marked = change(block)
    return 'content' in marked ? { ...marked, content: within(marked.content) } : marked
  }
  return Object.fromEntries(
    Object.entries(change(native)).map(([name, value]) => [
      name,
      name === 'system' || name === 'tools' || name === 'messages' ? within(value) : value,
    ]),
  )
}

const BILLING_HEADER = /^x-anthropic-billing-header:[^\n]*\n*/

/** A system text without the line that one client puts first for its maker's billing. */
export const withoutBillingLine = (text: string): string => text.replace(BILLING_HEADER, '')

/**
 * The messages without the line that one client puts first in its system text for its maker's billing. It differs in each
 * request, so that no prompt cache of another provider would ever find the prompt again.
 */
export function withoutBillingHeader(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const [first, ...others] = messages
  if (first?.role !== 'system' || typeof first.content !== 'string' || !BILLING_HEADER.test(first.content))
    return messages
  const content = first.content.replace(BILLING_HEADER, '')
  return content === '' ? others : [{ ...first, content }, ...others]
}

/** The same of a request on the messages wire. */
export function withoutNativeBillingHeader(native: NativeRequest): NativeRequest {
  const [first, ...others] = blocksOf(native.system)
  if (typeof first?.text !== 'string' || !BILLING_HEADER.test(first.text)) return native
  const text = first.text.replace(BILLING_HEADER, '')
  const system = text === '' ? others : [{ ...first, text }, ...others]
  return { ...native, system: system.length > 0 ? system : undefined }
}

/**
 * Folds turns of the system into what every target of the wire takes: those before the first turn into `system`, others
 * into the user's turn beside them, after results of tools, which must directly follow their calls.
 */
export function foldSystemTurns(native: NativeRequest): NativeRequest {
  const messages = native.messages as Fields[]
  const turnsOfSystem = messages.filter(({ role }) => role === 'system')
  // A target that changes its tools within a conversation also takes such turns.
  if (turnsOfSystem.length === 0 || turnsOfSystem.some(({ content }) => blocksOf(content).some(changesTools)))
    return native
  const first = messages.findIndex(({ role }) => role !== 'system')
  if (first < 0) return native
  const turns: Fields[] = []
  let folded: Fields[] = []
  const append = () => {
    if (folded.length === 0) return
    const isTurn = turns.at(-1)?.role === 'user'
    const content = [...blocksOf(isTurn ? turns.pop()?.content : null), ...folded]
    turns.push({ role: 'user', content })
    folded = []
  }
  for (const message of messages.slice(first)) {
    if (message.role === 'system') {
      folded.push(...blocksOf(message.content))
    } else if (message.role === 'user' && folded.length > 0) {
      const [results, others] = partition(blocksOf(message.content), ({ type }) => type === 'tool_result')
      turns.push({ ...message, content: [...results, ...folded, ...others] })
      folded = []
    } else {
      append()
      turns.push(message)
    }
  }
  append()
  const leading = messages.slice(0, first).flatMap(({ content }) => blocksOf(content))
  const system = [...blocksOf(native.system), ...leading]
  return { ...native, ...(system.length > 0 && { system }), messages: turns }
}

function blocksOf(content: unknown): Fields[] {
  if (content == null) return []
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Fields[])
}

/** The signatures of other makers that speak this wire: ids and digests. Claude's are long and base64. */
const NOT_CLAUDE = /^[\da-f-]{1,64}$/i

/**
 * A request without thinking that has no signature of this wire: a model of another made it, and targets of this wire refuse it.
 * They also refuse a budget of thinking within a loop of tools whose thinking is missing, so that it is left out there.
 */
export function withoutUnsignedThinking(native: NativeRequest, isForClaude = false): NativeRequest {
  const messages = native.messages as Fields[]
  const isUnsigned = (block: Fields) =>
    (block.type === 'thinking' &&
      (!block.signature || (isForClaude && NOT_CLAUDE.test(String(block.signature))))) ||
    sealedIn(block) !== undefined
  const hasUnsigned = ({ content }: Fields) => Array.isArray(content) && content.some(isUnsigned)
  if (!messages.some(hasUnsigned)) return native
  const signed = messages.flatMap((message) => {
    if (!hasUnsigned(message)) return message
    const content = (message.content as Fields[]).filter((block) => !isUnsigned(block))
    return content.length > 0 ? { ...message, content } : []
  })
  const { thinking, ...rest } = native
  const isInLoop = blocksOf(messages.at(-1)?.content).some(({ type }) => type === 'tool_result')
  const isBudget = isObject(thinking) && thinking.type === 'enabled'
  return { ...rest, ...(thinking !== undefined && !(isInLoop && isBudget) && { thinking }), messages: signed }
}

const partition = (blocks: readonly Fields[], isFirst: (block: Fields) => boolean) =>
  [blocks.filter(isFirst), blocks.filter((block) => !isFirst(block))] as const

const text = (value: string): ContentPart => ({ type: 'text', text: value })

function string(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalid(path, `\`${path}\` must be a string.`)
  return value
}

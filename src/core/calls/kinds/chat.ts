import { promptTokensBound } from '../../text-tokens/prompt-tokens.ts'
import { type ChatContent, type ChatMessage, mediaParts, textLength } from '../chat-request.ts'
import { isAddress } from '../content-part.ts'
import { HOSTED_WIRE, hostedTokens, hostedToolsAt } from '../hosted-tools.ts'
import { PORTABLE_TOOL } from '../read-members.ts'
import { addUnread } from '../unread-members.ts'
import { type AutoPrompt, type CallKind, type CallNeeds, type CallSize, tokensAtLeast } from './call-kind.ts'

/** The prompt of a chat, or of a call that is planned as one. */
export type ChatPrompt = Pick<
  ChatContent,
  'messages' | 'parameters' | 'exactJson' | 'sentJson' | 'hosted' | 'routingProfile'
>

export const chat: CallKind<ChatContent> = {
  surface: 'POST /v1/chat/completions',
  asksFor: 'completion',
  modalities: modalitiesOf,
  media: ({ messages }) => mediaParts(messages),
  needs: (content) => ({
    ...chatNeeds(content),
    pricesCache: content.extended === true,
    ...(content.extended && { extended: true, ...onlyChat(content) }),
  }),
  texts: chatTexts,
  write: ({ messages, parameters, exactJson, hosted }) => ({ messages, parameters, exactJson, hosted }),
}

/** Other wires have no names of those who speak, except of users, which become text. */
function onlyChat({ messages, parameters }: ChatPrompt): Pick<CallNeeds, 'onlyAt'> {
  const names = new Set<string>()
  addUnread(names, 'tools', parameters.tools, PORTABLE_TOOL)
  const isNamed = ({ role, name }: ChatMessage) => name !== undefined && role !== 'user' && role !== 'tool'
  if (messages.some(isNamed)) names.add('messages.name')
  return names.size > 0 ? { onlyAt: { wire: 'chat-completions', names: [...names] } } : {}
}

/** What a prompt requires of a model. */
export function chatNeeds(prompt: ChatPrompt): CallNeeds & { auto: AutoPrompt } {
  const { messages, parameters, exactJson, sentJson, hosted, routingProfile = 'auto' } = prompt
  const media = mediaParts(messages)
  const makers = new Set(messages.flatMap(({ signed = [] }) => signed.map(({ maker }) => maker)))
  const { characters, size, turnSizes } = callSizes(messages)
  const byAddress = new Set<'file' | 'video'>()
  for (const part of media) {
    if ((part.type === 'file' || part.type === 'video') && isAddress(part.source)) byAddress.add(part.type)
  }
  return {
    modelKind: 'chat',
    modalities: modalitiesOf(prompt),
    byAddress: [...byAddress],
    parameters: parameterNames(prompt),
    ...(hosted && { wire: HOSTED_WIRE, providerTools: hostedToolsAt(hosted) }),
    ...(parameters.passed && { passed: parameters.passed }),
    ...(makers.size > 0 && { signed: { makers, name: 'messages.reasoning_details' } }),
    prompt: {
      textTokens:
        promptTokensBound(messages, parameters, exactJson, sentJson) + (hosted ? hostedTokens(hosted) : 0),
      textTokensAtLeast: tokensAtLeast(characters),
      media,
      inputs: 1,
    },
    pricesCache: false,
    schemas: parameters,
    auto: {
      profile: routingProfile,
      messages,
      parameters,
      tools: parameters.tools?.length ?? 0,
      ...(parameters.reasoning_effort && { effort: parameters.reasoning_effort }),
      size,
      turnSizes,
    },
    fields: { text: 'messages', media: 'messages' },
  }
}

/** Usual for text, to compare prices; holds are bounded otherwise. */
const CHARS_PER_TOKEN = 4

/** The size of a call with these messages, and of the calls before it that began a turn of the user. */
function callSizes(messages: readonly ChatMessage[]): {
  characters: number
  size: CallSize
  turnSizes: CallSize[]
} {
  let characters = 0
  // The text before a completion was sent by the call that requested it.
  let repeated = 0
  const sizeNow = () => ({
    promptTokens: characters / CHARS_PER_TOKEN,
    repeatedTokens: repeated / CHARS_PER_TOKEN,
  })
  const turnSizes: CallSize[] = []
  for (const message of messages) {
    if (message.role === 'assistant') repeated = characters
    characters += textLength(message)
    if (message.role === 'user') turnSizes.push(sizeNow())
  }
  return { characters, size: sizeNow(), turnSizes }
}

/** A history with tool calls requires a model that supports tools, even if the request declares none. */
function parameterNames({ parameters, messages, hosted }: ChatPrompt): string[] {
  const names = [
    ...Object.keys(parameters).filter((name) => name !== 'passed'),
    ...(hosted ? [...hosted.tools.map(({ name }) => name), ...hosted.itemNames] : []),
  ]
  return names.includes('tools') || !messages.some((message) => message.tool_calls)
    ? names
    : [...names, 'tools']
}

export function modalitiesOf({ messages }: Pick<ChatPrompt, 'messages'>): string[] {
  const modalities = new Set(['text'])
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const part of content) modalities.add(part.type)
  }
  return [...modalities]
}

export function chatTexts({ messages, parameters }: ChatPrompt): string[] {
  const extras = [parameters.tools, parameters.response_format].filter((extra) => extra !== undefined)
  const texts = messages.map(messageText)
  if (extras.length > 0) texts.push(JSON.stringify(extras))
  return texts
}

function messageText({ content, name, tool_calls: calls = [] }: ChatMessage): string {
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  const texts = calls.map((call) => `${call.function.name} ${call.function.arguments}`)
  return [...(name === undefined ? [] : [name]), text, ...texts].join('\n')
}

import { type ChatSettings, settingsBody } from './chat-settings.ts'
import {
  type Completion,
  interrupted,
  isRunning,
  type ToolCall,
  WAITING,
  wantsResults,
} from './completion.ts'

/** A conversation with one model, or with several side by side. */
export interface Conversation {
  id: string
  /** Unix ms. */
  updatedAt: number
  settings: ChatSettings
  turns: Turn[]
}

/** A user message and the completions of each model. */
export interface Turn extends UserMessage {
  id: string
  lanes: Lane[]
}

export interface UserMessage {
  text: string
  /** As data: addresses. */
  images: string[]
}

/** The completions of one model in a turn: more than one if it called tools. Conversations are stored with these names. */
export interface Lane {
  model: string
  answers: Completion[]
}

/** Where a lane is. */
export interface LanePlace {
  turn: number
  lane: number
}

export const newConversation = (id: string, settings: ChatSettings, now: number): Conversation => ({
  id,
  updatedAt: now,
  settings,
  turns: [],
})

const TITLE_CHARACTERS = 60

/** The beginning of what was said first. */
export function titleOf({ turns }: Conversation): string {
  const text = turns[0]?.text.trim().replace(/\s+/g, ' ') ?? ''
  if (text === '') return turns.length > 0 ? 'An image' : 'New conversation'
  return text.length > TITLE_CHARACTERS ? `${text.slice(0, TITLE_CHARACTERS)}…` : text
}

const completionsOf = ({ turns }: Conversation): Completion[] =>
  turns.flatMap(({ lanes }) => lanes.flatMap(({ answers }) => answers))

export const isBusy = (conversation: Conversation): boolean => completionsOf(conversation).some(isRunning)

/** Whether a model waits for results of tools, so that nothing else can be said. */
export const waitsForTools = ({ turns }: Conversation): boolean =>
  (turns.at(-1)?.lanes ?? []).some(({ answers }) => wantsResults(answers.at(-1) ?? WAITING))

/** Appends a turn with a waiting completion for each model of the settings. */
export function withTurn(conversation: Conversation, id: string, message: UserMessage): Conversation {
  const lanes = conversation.settings.models.map((model) => ({ model, answers: [WAITING] }))
  return { ...conversation, turns: [...conversation.turns, { id, ...message, lanes }] }
}

/** Drops a turn and all turns after it. */
export const withoutTurns = (conversation: Conversation, from: number): Conversation => ({
  ...conversation,
  turns: conversation.turns.slice(0, from),
})

/** Changes the completions of one lane. */
export function withLane(
  conversation: Conversation,
  place: LanePlace,
  change: (answers: Completion[]) => Completion[],
): Conversation {
  const { turns } = conversation
  const turn = turns[place.turn]!
  const lane = turn.lanes[place.lane]!
  const lanes = turn.lanes.with(place.lane, { ...lane, answers: change(lane.answers) })
  return { ...conversation, turns: turns.with(place.turn, { ...turn, lanes }) }
}

/** Changes the last completion. */
export const changeLast =
  (change: (completion: Completion) => Completion) =>
  (answers: Completion[]): Completion[] =>
    answers.with(-1, change(answers.at(-1)!))

/** Replaces the last completion by one that is requested again. */
export const retried = changeLast(() => WAITING)

/** Adds the results of the last completion's tool calls, in their order, and a completion that is waited for. */
export const continued =
  (results: readonly string[]) =>
  (answers: Completion[]): Completion[] => [
    ...changeLast((completion) => ({
      ...completion,
      toolCalls: completion.toolCalls.map((call, index) => ({ ...call, result: results[index] ?? '' })),
    }))(answers),
    WAITING,
  ]

/** The conversation as it is stored: running completions count as stopped. */
export const resumed = (conversation: Conversation): Conversation => ({
  ...conversation,
  turns: conversation.turns.map((turn) => ({
    ...turn,
    lanes: turn.lanes.map((lane) => ({ ...lane, answers: lane.answers.map(interrupted) })),
  })),
})

type Part = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | Part[]
  tool_calls?: Array<{ id: string; type: 'function'; function: { name: string; arguments: string } }>
  tool_call_id?: string
}

/** The body of the call that a lane's last completion is from, or will be. */
export function chatBody(conversation: Conversation, place: LanePlace): Record<string, unknown> {
  const { settings, turns } = conversation
  const model = turns[place.turn]?.lanes[place.lane]?.model ?? settings.models[0] ?? 'auto'
  return {
    model,
    messages: messagesOf(conversation, place, model),
    ...settingsBody(settings),
    stream: true,
    stream_options: { include_usage: true },
  }
}

function messagesOf({ settings, turns }: Conversation, place: LanePlace, model: string): ChatMessage[] {
  const system: ChatMessage[] =
    settings.system.trim() === '' ? [] : [{ role: 'system', content: settings.system }]
  const said = turns.slice(0, place.turn + 1).flatMap((turn, index) => {
    const isLast = index === place.turn
    const lane = isLast ? turn.lanes[place.lane] : laneOf(turn, model, place.lane)
    const answers = lane?.answers ?? []
    return [userMessage(turn), ...(isLast ? answers.slice(0, -1) : answers).flatMap(completionMessages)]
  })
  return [...system, ...said]
}

/** The lane of a model in an earlier turn; another model's for a model that was added later. */
const laneOf = ({ lanes }: Turn, model: string, index: number): Lane | undefined =>
  [lanes[index], ...lanes].find((lane) => lane?.model === model) ?? lanes[index] ?? lanes[0]

export function userMessage({ text, images }: UserMessage): ChatMessage {
  if (images.length === 0) return { role: 'user', content: text }
  const shown = images.map((url): Part => ({ type: 'image_url', image_url: { url } }))
  return { role: 'user', content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...shown] }
}

/** Tool calls without results and empty completions are omitted, since providers reject them. */
function completionMessages({ text, toolCalls }: Completion): ChatMessage[] {
  const calls = toolCalls.filter((call) => call.result !== null)
  if (text === '' && calls.length === 0) return []
  if (calls.length === 0) return [{ role: 'assistant', content: text }]
  return [
    { role: 'assistant', content: text, tool_calls: calls.map(toApiCall) },
    ...calls.map(({ id, result }) => ({ role: 'tool' as const, content: result ?? '', tool_call_id: id })),
  ]
}

const toApiCall = ({ id, name, arguments: text }: ToolCall) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: text },
})

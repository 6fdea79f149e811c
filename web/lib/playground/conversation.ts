import { type Answer, interrupted, isRunning, type ToolCall, WAITING, wantsResults } from './answer.ts'
import { type ChatSettings, settingsBody } from './chat-settings.ts'

/** A conversation with one model, or with several side by side. */
export interface Conversation {
  id: string
  /** Unix ms. */
  updatedAt: number
  settings: ChatSettings
  turns: Turn[]
}

/** What the user said, and what each model answered. */
export interface Turn extends UserMessage {
  id: string
  lanes: Lane[]
}

export interface UserMessage {
  text: string
  /** As data: addresses. */
  images: string[]
}

/** The answers of one model in a turn: more than one where it called tools. */
export interface Lane {
  model: string
  answers: Answer[]
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

const answersOf = ({ turns }: Conversation): Answer[] =>
  turns.flatMap(({ lanes }) => lanes.flatMap(({ answers }) => answers))

export const isBusy = (conversation: Conversation): boolean => answersOf(conversation).some(isRunning)

/** Whether a model waits for results of tools, so that nothing else can be said. */
export const waitsForTools = ({ turns }: Conversation): boolean =>
  (turns.at(-1)?.lanes ?? []).some(({ answers }) => wantsResults(answers.at(-1) ?? WAITING))

/** With a new turn at its end, whose lanes wait for the models of the settings. */
export function withTurn(conversation: Conversation, id: string, message: UserMessage): Conversation {
  const lanes = conversation.settings.models.map((model) => ({ model, answers: [WAITING] }))
  return { ...conversation, turns: [...conversation.turns, { id, ...message, lanes }] }
}

/** Without the turn and all that follow. */
export const withoutTurns = (conversation: Conversation, from: number): Conversation => ({
  ...conversation,
  turns: conversation.turns.slice(0, from),
})

/** With the answers of one lane changed. */
export function withLane(
  conversation: Conversation,
  place: LanePlace,
  change: (answers: Answer[]) => Answer[],
): Conversation {
  const turns = conversation.turns.map((turn, index) =>
    index === place.turn
      ? {
          ...turn,
          lanes: turn.lanes.map((lane, at) =>
            at === place.lane ? { ...lane, answers: change(lane.answers) } : lane,
          ),
        }
      : turn,
  )
  return { ...conversation, turns }
}

/** The last answer changed. */
export const changeLast =
  (change: (answer: Answer) => Answer) =>
  (answers: Answer[]): Answer[] =>
    answers.map((answer, index) => (index === answers.length - 1 ? change(answer) : answer))

/** The last answer asked for again. */
export const retried = changeLast(() => WAITING)

/** The calls of the last answer have these results, in their order, and the next answer is waited for. */
export const continued =
  (results: readonly string[]) =>
  (answers: Answer[]): Answer[] => [
    ...changeLast((answer) => ({
      ...answer,
      toolCalls: answer.toolCalls.map((call, index) => ({ ...call, result: results[index] ?? '' })),
    }))(answers),
    WAITING,
  ]

/** As it is found again after the page was left. */
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

/** The body of the call that a lane's last answer is from, or will be. */
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
    return [userMessage(turn), ...(isLast ? answers.slice(0, -1) : answers).flatMap(answerMessages)]
  })
  return [...system, ...said]
}

/** What this model answered then; for one that came later, what another did. */
const laneOf = ({ lanes }: Turn, model: string, index: number): Lane | undefined =>
  [lanes[index], ...lanes].find((lane) => lane?.model === model) ?? lanes[index] ?? lanes[0]

export function userMessage({ text, images }: UserMessage): ChatMessage {
  if (images.length === 0) return { role: 'user', content: text }
  const shown = images.map((url): Part => ({ type: 'image_url', image_url: { url } }))
  return { role: 'user', content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...shown] }
}

/** Calls without results are left out: nothing may follow them. So is an answer that says nothing. */
function answerMessages({ text, toolCalls }: Answer): ChatMessage[] {
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

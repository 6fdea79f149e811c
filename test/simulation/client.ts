import { ulid } from 'ulid'
import { plainKey } from '../../src/accounts/key-cache.ts'
import { admitCall } from '../../src/calls/api/admit-call.ts'
import { dispatchCall } from '../../src/calls/api/enqueue-and-wait.ts'
import type { ChatRequest } from '../../src/core/calls/chat-request.ts'
import type { FrameBody } from '../../src/core/calls/frames.ts'
import { parsePreferences } from '../../src/core/calls/provider-preferences.ts'
import { ApiError } from '../../src/core/kernel/errors.ts'
import type { CallId } from '../../src/core/kernel/ids.ts'
import type { Api } from './gateway.ts'
import type { PlannedBudgets } from './plan.ts'
import type { SeededRandom } from './seeded-random.ts'
import { answerTo, voiceOf } from './simulated-provider.ts'

/** One call as its client sees it. */
export interface ClientCall {
  id: CallId
  accountId: string
  api: Api
  isStream: boolean
  prompt: string
  startedAtMs: number
  /** What was delivered so far. */
  text: string
  status: 'waiting' | 'refused' | 'whole' | 'error' | 'hung-up' | 'connection-lost'
  /** The error that it ended with. */
  errorCode: string | null
  cancel: (() => void) | null
  /** What the client was told that cannot be right. */
  complaint: string | null
}

/** Sends one call; runs as an event of its API process. `onEnd` hears when the client saw an end. */
export function sendCall(
  api: Api,
  accountId: string,
  budgets: PlannedBudgets,
  isUnlike: boolean,
  random: SeededRandom,
  nowMs: number,
  note: (call: ClientCall, what: string) => void,
): ClientCall {
  const words = random.whole(1, 12)
  const call: ClientCall = {
    id: `chatcmpl_${ulid(nowMs, random.unit)}`,
    accountId,
    api,
    isStream: random.chance(0.6),
    prompt: `words-${words}${isUnlike ? '-unlike' : ''}`,
    startedAtMs: nowMs,
    text: '',
    status: 'waiting',
    errorCode: null,
    cancel: null,
    complaint: null,
  }
  const limit = random.chance(0.3) ? undefined : words + random.whole(0, 20)
  void start(call, request(call, limit), budgets, api, note)
  return call
}

/** The one key of an account, made by its one member. */
export const bounded = (accountId: string, { keyPico, memberPico, accountPico }: PlannedBudgets) => ({
  keyId: `key_${accountId}`,
  limitPico: keyPico,
  limitReset: 'none' as const,
  memberBudget: memberPico === null ? null : { memberId: `member_${accountId}`, limitPico: memberPico },
  accountLimitPico: accountPico,
})

async function start(
  call: ClientCall,
  chat: ChatRequest,
  budgets: PlannedBudgets,
  api: Api,
  note: (call: ClientCall, what: string) => void,
): Promise<void> {
  const { accountId } = call
  const { admission, dispatch } = api.pathOf(accountId)
  const key = { ...plainKey(accountId, `key_${accountId}`), ...bounded(accountId, budgets) }
  try {
    const caller = { key, requestId: `req_${call.id}`, bodyBytes: 0 }
    const admitted = await admitCall(chat, caller, { callId: call.id, idempotencyRecord: null }, admission)
    note(call, `admitted, ${admitted.envelope.holdPico} held`)
    const sink = {
      frame: (body: FrameBody) => hear(call, body, note),
      flush: () => undefined,
      tick: () => undefined,
    }
    const pending = dispatchCall(admitted, chat.content, sink, dispatch)
    call.cancel = () => pending.abandon()
  } catch (error) {
    if (call.status !== 'waiting') return
    call.status = 'refused'
    call.errorCode = error instanceof ApiError ? error.code : String(error)
    note(call, `refused: ${call.errorCode}`)
  }
}

function hear(call: ClientCall, body: FrameBody, note: (call: ClientCall, what: string) => void): void {
  if (call.status === 'hung-up') return
  if (call.status !== 'waiting') {
    call.complaint ??= `heard ${body[0]} after its end`
    return
  }
  switch (body[0]) {
    case 'text':
      call.text += body[1]
      if (!answerLike(call).startsWith(call.text))
        call.complaint ??= `was delivered ${JSON.stringify(call.text)}`
      return
    case 'completion':
      call.text = body[2].content ?? ''
      return ended(call, 'whole', note, body[3] === 'length')
    case 'finish':
      return ended(call, 'whole', note)
    case 'error':
      call.status = 'error'
      call.errorCode = body[1].code
      return note(call, `error: ${body[1].code}`)
    default:
  }
}

/** `isCut`: it says that it reached its limit, as one does that is given whole at its deadline. */
function ended(
  call: ClientCall,
  status: 'whole',
  note: (call: ClientCall, what: string) => void,
  isCut = false,
): void {
  call.status = status
  const answer = answerLike(call)
  if (isCut ? !answer.startsWith(call.text) : call.text !== answer)
    call.complaint ??= `whole answer is ${JSON.stringify(call.text)}`
  note(call, 'saw the end')
}

/** The whole answer that began as this client's. */
const answerLike = ({ prompt, text }: ClientCall): string => answerTo(prompt, voiceOf(text))

const request = ({ prompt, isStream }: ClientCall, completionLimit: number | undefined): ChatRequest => ({
  models: ['sim/model'],
  stream: isStream,
  completionLimit,
  preferences: parsePreferences({}),
  content: { kind: 'chat', messages: [{ role: 'user', content: prompt }], parameters: {} },
})

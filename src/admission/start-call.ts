import { setTimeout as delay } from 'node:timers/promises'
import type { KeyRecord } from '../accounts/key-cache.ts'
import type { CallEnvelope } from '../core/call-job.ts'
import type { ChatRequest } from '../core/chat-request.ts'
import { ApiError } from '../core/errors.ts'
import { newCallId } from '../core/ids.ts'
import type { CallSink } from '../relay/pending-call.ts'
import type { RateFigures } from './admission-gate.ts'
import { type AdmissionDependencies, AdmissionRefused, admitCall } from './admit-call.ts'
import { attachCall } from './attach-call.ts'
import { type DispatchDependencies, type DispatchedCall, dispatchCall } from './dispatch-call.ts'
import type { Idempotency, IdempotencyClaim } from './idempotency.ts'

export interface StartCallDependencies {
  admission: AdmissionDependencies
  dispatch: DispatchDependencies
  idempotency: Idempotency
  /** Calls this instance waits for at the most. */
  pendingCallsMax: number
}

/** A request as it came in: what of it is not in the ChatRequest. */
export interface IncomingCall {
  requestId: string
  /** The `Idempotency-Key` header, or null. */
  idempotencyKey: string | null
  /** The body as sent, to tell repeats from conflicts. */
  body: unknown
}

/** A call that may be sent on its way: admitted, or the repeat of one that was. */
export interface StartedCall {
  envelope: CallEnvelope
  send(sink: CallSink): DispatchedCall
}

const ADMISSION_WAIT_MS = 5_000
const LOOK_AGAIN_MS = 50

/**
 * The pipeline before the queue, top to bottom: bound the load, find repeats, admit. Throws the ApiError to
 * answer with; whatever fails here leaves no trace in the queue and holds nothing. `noteRate` hears what is
 * left of the key's rate limits, whether the call is admitted or refused.
 */
export async function startCall(
  chat: ChatRequest,
  key: KeyRecord & { accountId: string },
  incoming: IncomingCall,
  noteRate: (figures: RateFigures) => void,
  deps: StartCallDependencies,
): Promise<StartedCall> {
  const { dispatch, idempotency } = deps
  if (dispatch.hub.size >= deps.pendingCallsMax)
    throw overloaded('This gateway serves as many calls as it can.')

  const callId = newCallId()
  const { idempotencyKey, requestId, body } = incoming
  const claim =
    idempotencyKey === null
      ? null
      : await asked(idempotency.claim(key.accountId, idempotencyKey, body, callId), deps)
  if (claim?.kind === 'repeat') return repeatOf(claim, deps)

  const record = claim?.record ?? null
  try {
    const { envelope, rate } = await asked(
      admitCall(chat, key, { callId, requestId, idempotencyRecord: record }, deps.admission),
      deps,
    )
    noteRate(rate)
    if (record !== null) await confirmed(record, envelope, deps)
    return { envelope, send: (sink) => dispatchCall(envelope, chat, sink, dispatch) }
  } catch (error) {
    if (error instanceof AdmissionRefused) noteRate(error.rate)
    // A refused call stands for nothing: its key is free again.
    if (record !== null) await asked(dispatch.archive.forget(record), deps)
    throw error
  }
}

/** Makes an admitted call findable by its Idempotency-Key. One that cannot be is not run, and holds nothing. */
async function confirmed(record: string, envelope: CallEnvelope, deps: StartCallDependencies): Promise<void> {
  const { errands, releaseHold } = deps.admission
  try {
    await asked(deps.idempotency.confirm(record, envelope), deps)
  } catch (error) {
    errands.add(() => releaseHold(envelope.accountId, envelope.id))
    throw error
  }
}

async function repeatOf(
  claim: Extract<IdempotencyClaim, { kind: 'repeat' }>,
  { dispatch, idempotency }: StartCallDependencies,
): Promise<StartedCall> {
  const { record } = claim
  const deadline = dispatch.clock() + ADMISSION_WAIT_MS
  for (
    let found: { envelope: CallEnvelope | null } | null = claim;
    found;
    found = await idempotency.find(record)
  ) {
    const { envelope } = found
    if (envelope)
      return { envelope, send: (sink) => attachCall(envelope, record, sink, { ...dispatch, idempotency }) }
    if (dispatch.clock() > deadline) break
    await delay(LOOK_AGAIN_MS)
  }
  throw overloaded('The first call with this Idempotency-Key was not admitted.')
}

/** Waits for Redis or PostgreSQL. A service that is away is an overload, and nothing is admitted unheld. */
async function asked<T>(answer: Promise<T>, { dispatch }: StartCallDependencies): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ApiError) throw error
    dispatch.logger.error({ err: error }, 'admission failed')
    throw overloaded('The gateway cannot take calls right now.')
  }
}

const overloaded = (message: string): ApiError =>
  new ApiError('overloaded', `${message} Retry shortly.`, { retryAfterSeconds: 1 })

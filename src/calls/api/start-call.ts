import { setTimeout as delay } from 'node:timers/promises'
import type { KeyRecord } from '../../accounts/key-cache.ts'
import type { RateLimited, RateState } from '../../billing/holds/admission.ts'
import type { CallEnvelope, ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { CallLabels } from '../../core/calls/call-labels.ts'
import type { CallRequest } from '../../core/calls/kinds/call-kinds.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { type CallId, newCallId } from '../../core/kernel/ids.ts'
import type { RoutingPlan } from '../../core/routing/routing-plan.ts'
import { causeOf } from '../../platform/observability/logger.ts'
import { isRedisAway } from '../../platform/redis/redis-deadlines.ts'
import {
  answerNotKept,
  type Idempotency,
  type IdempotencyRecord,
  type KeyedCall,
  type KeyUse,
  keyUse,
} from '../protocol/idempotency.ts'
import {
  ADMISSION_WAIT_MS,
  type Admission,
  type AdmissionDependencies,
  AdmissionRefused,
  admitCall,
  admitRepeat,
} from './admit-call.ts'
import type { AdmittedCall, DispatchDependencies } from './enqueue-and-wait.ts'
import type { LoadBound } from './load-bound.ts'
import { overloaded } from './overloaded.ts'

export interface StartCallDependencies {
  admission: AdmissionDependencies
  dispatch: DispatchDependencies
  idempotency: Idempotency
  /** Limits the calls of this instance. */
  load: LoadBound
}

/** A call as it came in. */
interface IncomingCall {
  call: CallRequest
  key: KeyRecord & { accountId: string }
  requestId: string
  /** The `Idempotency-Key` header, or null. */
  idempotencyKey: string | null
  /** The body as sent, to distinguish repeats from conflicts. */
  body: unknown
  /** The length of its body. */
  bodyBytes: number
  /** Called with the state of the key's rate limits, whether the call is admitted or refused. */
  noteRate: NoteRate
  labels: CallLabels | undefined
  /** See CallEnvelope. */
  conversation?: string | undefined
  /** The plan that was made for its quote; absent: none. */
  planned?: PlannedCall | undefined
}

/** `limited`: no call of the key or account is admitted until then. */
type NoteRate = (rate: RateState, limited?: RateLimited | null) => void

/** A call with an id that was assigned before it starts. */
export interface PlannedCall {
  callId: CallId
  /** Absent: it is planned when it starts. */
  plan?: RoutingPlan
}

/** A call to relay: an admitted one that is to be enqueued, or the original of a repeat. */
export type StartedCall =
  | ({ kind: 'admitted' } & AdmittedCall)
  | { kind: 'repeat'; envelope: ResponseEnvelope & KeyedCall }

const LOOK_AGAIN_MS = 50

/**
 * The pipeline before the queue, top to bottom: limits the load, finds repeats, admits. Throws the ApiError for the
 * client; a failure here leaves nothing in the queue and holds nothing.
 */
export function startCall(incoming: IncomingCall, deps: StartCallDependencies): Promise<StartedCall> {
  const {
    call: request,
    key,
    requestId,
    idempotencyKey,
    body,
    bodyBytes,
    labels,
    conversation,
    noteRate,
    planned,
  } = incoming
  return deps.load.enter(key.accountId, async () => {
    const { admission, dispatch, idempotency } = deps
    const callId = planned?.callId ?? newCallId(dispatch.clock())
    const use = idempotencyKey === null ? null : keyUse(key.accountId, idempotencyKey, body, callId)
    const deadline = dispatch.clock() + ADMISSION_WAIT_MS
    for (let isCounted = false; use; isCounted = true) {
      const known = await asked(idempotency.claim(use), deps)
      if (!known) break
      if (!isCounted) await countRepeat(key, callId, noteRate, deps)
      const repeat = await repeatOf(known, use, deadline, deps)
      if (repeat) return repeat
      // The first call was refused: this one claims the key, and learns why.
    }

    try {
      const { call, rate } = await asked(
        admitCall(
          request,
          key,
          {
            callId,
            requestId,
            idempotencyRecord: use?.digest ?? null,
            bodyBytes,
            plan: planned?.plan,
            labels,
            conversation,
          },
          admission,
        ),
        deps,
        (late) => undoLate(late, admission),
      )
      noteRate(rate)
      const other = use && (await confirmed(use, call.envelope, deps))
      const repeat = use && other && (await repeatOf(other, use, deadline, deps))
      if (use && other) return repeat ?? notAdmitted()
      return { kind: 'admitted', ...call }
    } catch (error) {
      if (error instanceof AdmissionRefused) noteRate(error.rate, error.limited)
      // The key of a refused call is released, unless another call has it by now.
      if (use) {
        const { digest: idempotencyRecord, accountId } = use
        await asked(dispatch.archive.forget({ id: callId, accountId, idempotencyRecord }), deps)
      }
      throw error
    }
  })
}

/** Its client got an error meanwhile. */
function undoLate(
  { call: { envelope, isEnqueued } }: Admission,
  { hub, cleanup, undoAdmission, releaseHold }: AdmissionDependencies,
): void {
  hub.forget(envelope.id)
  cleanup.add(() =>
    isEnqueued ? undoAdmission(envelope, undefined) : releaseHold(envelope.accountId, envelope.id),
  )
}

/**
 * Makes an admitted call findable by its Idempotency-Key. If that fails, the call is not run and its hold is released.
 * The same applies if admission took so long that another call has the key by now, which is returned.
 */
async function confirmed(
  use: KeyUse,
  envelope: CallEnvelope,
  deps: StartCallDependencies,
): Promise<IdempotencyRecord | null> {
  const { cleanup, releaseHold } = deps.admission
  const release = () => cleanup.add(() => releaseHold(envelope.accountId, envelope.id))
  try {
    const other = await asked(deps.idempotency.confirm(use, envelope), deps)
    if (other) release()
    return other
  } catch (error) {
    release()
    throw error
  }
}

/** Repeats count against the limits of their key, whatever their result. */
async function countRepeat(
  key: KeyRecord & { accountId: string },
  callId: CallId,
  noteRate: NoteRate,
  deps: StartCallDependencies,
): Promise<void> {
  try {
    noteRate(await asked(admitRepeat(key, callId, deps.admission), deps))
  } catch (error) {
    if (error instanceof AdmissionRefused) noteRate(error.rate, error.limited)
    throw error
  }
}

/** The call of a known key once it is admitted; null if it was not. */
async function repeatOf(
  known: IdempotencyRecord,
  { accountId, digest }: KeyUse,
  deadline: number,
  deps: StartCallDependencies,
): Promise<StartedCall | null> {
  const { dispatch, idempotency } = deps
  for (
    let found: IdempotencyRecord | null = known;
    found;
    found = await asked(idempotency.find(accountId, digest), deps)
  ) {
    const { callId, envelope, hasEnded } = found
    if (envelope) return { kind: 'repeat', envelope: { ...envelope, idempotencyRecord: digest } }
    if (hasEnded) {
      const { code, message, shouldRetry } = answerNotKept(callId)
      throw new ApiError(code, message, { shouldRetry })
    }
    if (dispatch.clock() > deadline) notAdmitted()
    await delay(LOOK_AGAIN_MS)
  }
  return null
}

function notAdmitted(): never {
  throw overloaded('The first call with this Idempotency-Key was not admitted.')
}

/**
 * Waits for Redis or PostgreSQL with a deadline. If a service is away or hangs, the call fails as an overload, and
 * nothing is admitted without a hold. `undo` is called with a response that came too late.
 */
async function asked<T>(
  answer: Promise<T>,
  { dispatch }: StartCallDependencies,
  undo: (late: T) => void = () => undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const overdue = new Promise<never>((_, reject) => {
    // Waits for pending input: timers run before it, even after this process was blocked.
    timer = setTimeout(() => setImmediate(reject, new Error('no response in time')), ADMISSION_WAIT_MS)
  })
  let isLate = false
  answer.then(
    (late) => isLate && undo(late),
    () => undefined,
  )
  try {
    return await Promise.race([answer, overdue])
  } catch (error) {
    isLate = true
    if (error instanceof ApiError) throw error
    const cause = isRedisAway(error) ? 'redis is away' : causeOf(error)
    dispatch.logger.warn({ code: 'overloaded', cause }, 'call refused')
    throw overloaded('The gateway cannot take calls right now.')
  } finally {
    clearTimeout(timer)
  }
}

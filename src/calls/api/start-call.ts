import { setTimeout as delay } from 'node:timers/promises'
import type { CachedUnder, CallEnvelope, ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { CallRequest } from '../../core/calls/kinds/call-kinds.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { type CallId, newCallId } from '../../core/kernel/ids.ts'
import type { CallPlan } from '../../core/routing/call-plan.ts'
import { causeOf } from '../../platform/observability/logger.ts'
import { isRedisAway } from '../../platform/redis/redis-deadlines.ts'
import {
  type Idempotency,
  type IdempotencyRecord,
  type KeyedCall,
  type KeyUse,
  keyUse,
  responseNotKept,
} from '../protocol/idempotency.ts'
import type { ResponseCache } from '../protocol/response-cache.ts'
import {
  ADMISSION_WAIT_MS,
  type AdmissionDependencies,
  AdmissionRefused,
  admitCall,
  admitRepeat,
  type Caller,
  planCall,
} from './admit-call.ts'
import type { CachedCall } from './cached-call.ts'
import type { AdmittedCall, DispatchDependencies } from './enqueue-and-wait.ts'
import type { LoadBound } from './load-bound.ts'
import { overloaded } from './overloaded.ts'

export interface StartCallDependencies {
  admission: AdmissionDependencies
  dispatch: DispatchDependencies
  idempotency: Idempotency
  responseCache: ResponseCache
  /** Limits the calls of this instance. */
  load: LoadBound
}

/** A repeat of a call that runs or has run: it relays the original's response. */
export interface RepeatedCall {
  kind: 'repeat'
  envelope: ResponseEnvelope & KeyedCall
}

const LOOK_AGAIN_MS = 50

/**
 * The pipeline before the queue, top to bottom: limits the load, finds repeats, admits. Throws the ApiError for the
 * client; a failure here leaves nothing in the queue and holds nothing.
 */
export function startCall(
  request: CallRequest,
  caller: Caller,
  /** An id, and a plan, that were made before the call starts. */
  known: { callId?: CallId | undefined; plan?: CallPlan | undefined },
  deps: StartCallDependencies,
): Promise<AdmittedCall | RepeatedCall | CachedCall> {
  const { key, idempotencyKey, fingerprint, noteRate } = caller
  return deps.load.enter(key.accountId, async () => {
    const { admission, dispatch, idempotency } = deps
    const { callId = newCallId(dispatch.clock()) } = known
    const cacheable =
      caller.cacheSeconds !== undefined && !known.plan && (await findCached(request, caller, callId, deps))
    if (cacheable && 'hit' in cacheable) return cacheable.hit
    const { plan, cache } = cacheable || { plan: known.plan, cache: undefined }
    const use = idempotencyKey === null ? null : keyUse(key.accountId, idempotencyKey, fingerprint, callId)
    const deadline = dispatch.clock() + ADMISSION_WAIT_MS
    for (let isCounted = false; use; isCounted = true) {
      const original = await inTime(idempotency.claim(use), deps)
      if (!original) break
      if (!isCounted) await countRepeat(caller, callId, deps)
      const repeat = await repeatOf(original, use, deadline, deps)
      if (repeat) return repeat
      // The first call was refused: this one claims the key, and learns why.
    }

    try {
      const ids = { callId, plan, cache, idempotencyRecord: use?.digest ?? null }
      const admitted = await inTime(admitCall(request, caller, ids, admission), deps, (late) =>
        undoLate(late, admission),
      )
      noteRate(admitted.rate)
      const other = use && (await confirmed(use, admitted.envelope, deps))
      const repeat = use && other && (await repeatOf(other, use, deadline, deps))
      if (use && other) return repeat ?? notAdmitted()
      return admitted
    } catch (error) {
      if (error instanceof AdmissionRefused) noteRate(error.rate, error.limited)
      // The key of a refused call is released, unless another call has it by now.
      if (use) {
        const { digest: idempotencyRecord, accountId } = use
        await inTime(dispatch.archive.forget({ id: callId, accountId, idempotencyRecord }), deps)
      }
      throw error
    }
  })
}

/**
 * Looks for the response to a request that was answered before. It is planned first, so that a key gets no response of a
 * model that it may not use; a request that no provider may keep is not looked for, and not stored.
 */
async function findCached(
  request: CallRequest,
  caller: Caller,
  callId: CallId,
  deps: StartCallDependencies,
): Promise<{ hit: CachedCall } | { plan: CallPlan; cache: CachedUnder | undefined }> {
  const { key, cacheSeconds: seconds = 0, surface = '' } = caller
  const { dispatch, responseCache } = deps
  const plan = planCall(request, key, caller.labels?.session, deps.admission)
  const { zdr, dataCollection } = request.preferences
  if (zdr || dataCollection === 'deny') return { plan, cache: undefined }
  const { requestDigest } = await import('../protocol/response-cache.ts')
  const cache = { digest: requestDigest(surface, request, key.allowList), seconds }
  const reading = responseCache.find(key.accountId, cache.digest).catch((error: unknown) => {
    dispatch.logger.warn({ err: error, callId }, 'cached response not read')
    return null
  })
  const found = await inTime(reading, deps)
  if (!found || dispatch.clock() - found.storedAt > seconds * 1000) return { plan, cache }
  await countRepeat(caller, callId, deps)
  const { cachedCall } = await import('./cached-call.ts')
  return { hit: cachedCall(found, request, caller, callId, dispatch) }
}

/** Its client got an error meanwhile. */
function undoLate(
  { envelope, isEnqueued }: AdmittedCall,
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
    const other = await inTime(deps.idempotency.confirm(use, envelope), deps)
    if (other) release()
    return other
  } catch (error) {
    release()
    throw error
  }
}

/** Repeats count against the limits of their key, whatever their result. */
async function countRepeat(
  { key, noteRate }: Caller,
  callId: CallId,
  deps: StartCallDependencies,
): Promise<void> {
  try {
    noteRate(await inTime(admitRepeat(key, callId, deps.admission), deps))
  } catch (error) {
    if (error instanceof AdmissionRefused) noteRate(error.rate, error.limited)
    throw error
  }
}

/** The call of a known key once it is admitted; null if it was not. */
async function repeatOf(
  original: IdempotencyRecord,
  { accountId, digest }: KeyUse,
  deadline: number,
  deps: StartCallDependencies,
): Promise<RepeatedCall | null> {
  const { dispatch, idempotency } = deps
  for (
    let found: IdempotencyRecord | null = original;
    found;
    found = await inTime(idempotency.find(accountId, digest), deps)
  ) {
    const { callId, envelope, hasEnded } = found
    if (envelope) return { kind: 'repeat', envelope: { ...envelope, idempotencyRecord: digest } }
    if (hasEnded) {
      const { code, message, shouldRetry } = responseNotKept(callId)
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
async function inTime<T>(
  reply: Promise<T>,
  { dispatch }: StartCallDependencies,
  undo: (late: T) => void = () => undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const overdue = new Promise<never>((_, reject) => {
    // Waits for pending input: timers run before it, even after this process was blocked.
    timer = setTimeout(() => setImmediate(reject, new Error('no response in time')), ADMISSION_WAIT_MS)
  })
  let isLate = false
  reply.then(
    (late) => isLate && undo(late),
    () => undefined,
  )
  try {
    return await Promise.race([reply, overdue])
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

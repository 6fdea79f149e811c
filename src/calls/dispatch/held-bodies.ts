import type { CallId } from '../../core/kernel/ids.ts'
import type { CallBodies } from '../relay/call-bodies.ts'

/** The bodies of the calls that one worker runs. */
export interface HeldBodies extends Pick<CallBodies, 'read' | 'drop'> {
  /** The call has ended here, however: its body is held no more. Idempotent. */
  release(callId: CallId): void
}

export interface HeldBodiesLimits {
  /** Bytes of bodies kept beside the queue that this worker holds at the most. */
  workerBodyBytes: number
  /** The longest a body may be. */
  bodyLimitBytes: number
}

/** How long a call waits for room. */
const WAIT_MS = 10_000

/**
 * Bounds the bytes of bodies that a worker holds. Those in their jobs are small and bounded by the number of calls; one
 * that waits beside the queue is read only once there is room for the longest. Reading rejects when none comes in time.
 */
export function createHeldBodies(
  bodies: Pick<CallBodies, 'read' | 'drop'>,
  { workerBodyBytes, bodyLimitBytes }: HeldBodiesLimits,
  waitMs = WAIT_MS,
): HeldBodies {
  const held = new Map<CallId, number>()
  /** In order of arrival. */
  const waiting: Array<() => void> = []
  let sum = 0
  const hasRoom = () => sum + bodyLimitBytes <= workerBodyBytes
  const set = (callId: CallId, bytes: number) => {
    sum += bytes - (held.get(callId) ?? 0)
    if (bytes === 0) held.delete(callId)
    else held.set(callId, bytes)
    while (hasRoom() && waiting.length > 0) waiting.shift()!()
  }
  const takeRoom = (callId: CallId): Promise<void> | undefined => {
    const take = () => set(callId, bodyLimitBytes)
    if (hasRoom()) return void take()
    return new Promise((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer)
        take()
        resolve()
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(turn), 1)
        reject(new Error(`no room for the body of a call within ${waitMs} ms`))
      }, waitMs)
      waiting.push(turn)
    })
  }
  return {
    async read(callId, sealedBody) {
      if (sealedBody !== null) return bodies.read(callId, sealedBody)
      await takeRoom(callId)
      const text = await bodies.read(callId, sealedBody)
      set(callId, text?.length ?? 0)
      return text
    },
    drop: (callId) => bodies.drop(callId),
    release: (callId) => set(callId, 0),
  }
}

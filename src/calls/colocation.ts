import type { CallJob } from '../core/calls/call-job.ts'
import type { Frame } from '../core/calls/frames.ts'

/**
 * Where an API instance and a dispatch worker in one process meet. A call that finds a free slot here is claimed with its
 * admission, and its frames go from one to the other without Redis. Its job, its lock, its hold and its settlement are in
 * Redis as those of any call, and so is what becomes of it when the process dies. Each side adds its part when it starts.
 */
export interface Colocation {
  /** A free slot of the worker, taken; null where it has none, or stops. */
  takeSlot?: () => TakenSlot | null
  /** The calls that the API instance waits for, and the channel that names it. */
  hub?: { readonly channel: string; receive(worker: string, frames: readonly Frame[]): void }
}

/** A slot for one call, until it has run there or is given back. */
export interface TakenSlot {
  /** What the lock of the call's job holds, and for how long. */
  token: string
  lockMs: number
  /** Runs the call, which is claimed by now; `body` is what its job has sealed. */
  run(job: CallJob, body: string): void
  giveBack(): void
}

import type { CallJob } from '../core/calls/call-job.ts'
import type { Frame } from '../core/calls/frames.ts'
import type { CallContent } from '../core/calls/kinds/call-kinds.ts'

/**
 * An API instance and a dispatch worker in one process: a call that finds a free slot of the worker is claimed with its
 * admission (`TakeSlot`), and its content and its frames never leave the process (`LocalHub`). Its job, lock, hold and
 * settlement are in Redis as those of any call, so another worker ends it if the process dies, and its client with it.
 */

/** Takes a free slot of the worker of a shard; null where it has none, or stops. */
export type TakeSlot = () => TakenSlot | null

/** The same for the worker of any shard; null also where this process has none. */
export type TakeSlotOfShard = (shard: number) => TakenSlot | null

/** The hub of a shard in the API instance of this process, while it runs. */
export type FindLocalHub = (shard: number) => LocalHub | null

/** Receives the frames of calls that the API instance waits for, and the channel that identifies it. */
export interface LocalHub {
  readonly channel: string
  receive(worker: string, frames: readonly Frame[]): void
}

/** A slot for one call, until the call has run or the slot is released. */
export interface TakenSlot {
  /** The token in the lock of the call's job, and the lock's lifetime. */
  token: string
  lockMs: number
  run(job: CallJob, content: CallContent): void
  giveBack(): void
}

/** One process that the all-in-one start or a test brings up: how to run it, when it serves, how it ends. */
export interface ProcessPlan {
  /** Short, shown to people and used as the log file's name. */
  name: string
  command: string
  args: string[]
  cwd: string
  env: Record<string, string | undefined>
  /** Set where the process must run as another user than ours. */
  identity?: ProcessIdentity | null
  /** Lines on standard error that say nothing a person at the terminal needs; they are kept in the log file. */
  routineOutput?: RegExp
  stopSignal: NodeJS.Signals
  /** After this long without an end, the process is killed. */
  stopTimeoutMs: number
  /** Makes way for the process: removes what a killed predecessor left. */
  prepare?: () => Promise<void>
  /** Resolves once the process serves; rejects with the reason while it does not yet. Asked again and again. */
  probe: (signal: AbortSignal) => Promise<void>
  /** The process counts as failed when it does not serve by then. */
  readyTimeoutMs: number
}

export interface ProcessIdentity {
  uid: number
  gid: number
}

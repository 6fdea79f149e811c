/** How often an API instance with waiting calls sends itself a message through Redis. */
const ECHO_EVERY_MS = 1_000
/** After this time an echo was lost with its connection. */
const ECHO_LOST_MS = 5_000
/** Echoes without a heartbeat of a worker until its calls probe it. */
const SUSPECT_AFTER = 2
/** Echoes without a heartbeat until it is lost: 4 to 5 s. A worker sends one every second. */
const LOST_AFTER = 5
/** An echo takes this long only if Redis, or this machine, was blocked. */
const ECHO_LATE_MS = 2_000
/**
 * Additional echoes after that, and after a reconnect: a worker may take up to 10 s longer to notice that its
 * connection is gone.
 */
const MORE_PATIENCE = 10

interface WorkerHeartbeatsOptions {
  /** Sends an echo through Redis, to the channel of the workers' messages. */
  sendEcho: (number: number) => void
  /** The worker has been silent: probe it. */
  onSuspect: (worker: string) => void
  /** Called when a worker has been completely silent for 4 to 5 s. */
  onLost: (worker: string) => void
}

/**
 * Detects which workers are alive: each sends a message every second on the channel of an API instance while it has
 * calls of that instance.
 *
 * Silence is measured in echoes, messages that the instance sends itself on the same channel, each after the last has
 * arrived. So a blocked Redis, an interrupted connection or a blocked instance does not make a worker look dead,
 * because no echo arrives either.
 */
export class WorkerHeartbeats {
  private readonly options: WorkerHeartbeatsOptions
  /** Echoes received so far. */
  private echoes = 0
  /** The pending echo; `sinceMs` is when the first of the missing ones was sent. */
  private awaited: { number: number; sentAtMs: number; sinceMs: number } | null = null
  private sent = 0
  private sendAtMs = 0
  /** The echo count at a worker's last message, and the number of additional echoes it may miss. */
  private readonly lastSeen = new Map<string, { at: number; patience: number }>()

  constructor(options: WorkerHeartbeatsOptions) {
    this.options = options
  }

  /** The connection was interrupted: a pending echo is lost, and workers may need a while. */
  reconnected(): void {
    this.awaited = null
    for (const worker of this.lastSeen.keys())
      this.lastSeen.set(worker, { at: this.echoes, patience: MORE_PATIENCE })
  }

  /** Ticks were suspended, so the duration of a pending echo is unknown. */
  resumed(): void {
    this.awaited = null
  }

  received(worker: string): void {
    this.lastSeen.set(worker, { at: this.echoes, patience: 0 })
  }

  /** An echo came. */
  echoed(number: number, nowMs: number): void {
    if (number !== this.awaited?.number) return
    const { sinceMs } = this.awaited
    this.awaited = null
    this.sendAtMs = nowMs + ECHO_EVERY_MS
    this.echoes++
    const isLate = nowMs - sinceMs > ECHO_LATE_MS
    for (const [worker, seen] of this.lastSeen) {
      // Once for each silence, because a dead worker must be detected even if every echo is late.
      if (isLate) seen.patience = MORE_PATIENCE
      const silence = this.echoes - seen.at - seen.patience
      if (silence >= LOST_AFTER) {
        this.lastSeen.delete(worker)
        this.options.onLost(worker)
      } else if (silence >= SUSPECT_AFTER) this.options.onSuspect(worker)
    }
  }

  /** Call it some times a second. */
  tick(nowMs: number): void {
    const isDue =
      this.awaited === null ? nowMs >= this.sendAtMs : nowMs > this.awaited.sentAtMs + ECHO_LOST_MS
    if (!isDue) return
    this.awaited = { number: ++this.sent, sentAtMs: nowMs, sinceMs: this.awaited?.sinceMs ?? nowMs }
    this.options.sendEcho(this.sent)
  }
}

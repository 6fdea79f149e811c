/** How often an API instance that waits for calls sends itself a message through Redis. */
const ECHO_EVERY_MS = 1_000
/** An echo that has not come by then was lost with its connection. */
const ECHO_LOST_MS = 5_000
/** Echoes without a sign of a worker until its calls ask whether it is there. */
const DOUBTFUL_AFTER = 2
/** Echoes without a sign until it is taken for lost: 4 to 5 s. A worker gives a sign every second. */
const LOST_AFTER = 5
/** An echo takes so long only where Redis, or this machine, stood still. */
const ECHO_LATE_MS = 2_000
/**
 * As many more after that, and after a reconnect: a worker may be slower to notice that its connection is gone, by up to
 * 10 s.
 */
const MORE_PATIENCE = 10

interface WorkerHeartbeatsOptions {
  /** Sends an echo through Redis, to the channel on which workers are heard. */
  sendEcho: (number: number) => void
  /** Nothing has been heard of a worker for a while: should it live, let it say so. */
  onDoubtful: (worker: string) => void
  /** Nothing at all has been heard of a worker for 4 to 5 s. */
  onLost: (worker: string) => void
}

/**
 * Which workers are alive, from what is heard of them: each says something every second on the channel of an API
 * instance while it has calls of that instance.
 *
 * Silence is measured in echoes, messages that the instance sends itself on the same channel, the next one only when
 * the last has come. So a Redis that stands still, a connection that is gone or an instance that was frozen itself makes
 * no worker look dead: no echo comes then either.
 */
export class WorkerHeartbeats {
  private readonly options: WorkerHeartbeatsOptions
  /** Echoes heard so far. */
  private echoes = 0
  /** The echo on its way; `sinceMs` is when the first was sent of those that did not come. */
  private awaited: { number: number; sentAtMs: number; sinceMs: number } | null = null
  private sent = 0
  private sendAtMs = 0
  /** Echoes heard when a worker last gave a sign, and how many more than usual it may stay silent for. */
  private readonly signs = new Map<string, { at: number; patience: number }>()

  constructor(options: WorkerHeartbeatsOptions) {
    this.options = options
  }

  /** The connection was gone and is back: an echo that was on its way is lost, and workers may need a while. */
  reconnected(): void {
    this.awaited = null
    for (const worker of this.signs.keys())
      this.signs.set(worker, { at: this.echoes, patience: MORE_PATIENCE })
  }

  /** Ticks were suspended: of an echo that was on its way since before it is not known how long it took. */
  resumed(): void {
    this.awaited = null
  }

  /** A worker was heard. */
  heard(worker: string): void {
    this.signs.set(worker, { at: this.echoes, patience: 0 })
  }

  /** An echo came. */
  echoed(number: number, nowMs: number): void {
    if (number !== this.awaited?.number) return
    const { sinceMs } = this.awaited
    this.awaited = null
    this.sendAtMs = nowMs + ECHO_EVERY_MS
    this.echoes++
    const isLate = nowMs - sinceMs > ECHO_LATE_MS
    for (const [worker, sign] of this.signs) {
      // Once for each silence: where every echo is late, a dead worker must be found dead all the same.
      if (isLate) sign.patience = MORE_PATIENCE
      const silence = this.echoes - sign.at - sign.patience
      if (silence >= LOST_AFTER) {
        this.signs.delete(worker)
        this.options.onLost(worker)
      } else if (silence >= DOUBTFUL_AFTER) this.options.onDoubtful(worker)
    }
  }

  /** To be called some times a second. */
  tick(nowMs: number): void {
    const isDue =
      this.awaited === null ? nowMs >= this.sendAtMs : nowMs > this.awaited.sentAtMs + ECHO_LOST_MS
    if (!isDue) return
    this.awaited = { number: ++this.sent, sentAtMs: nowMs, sinceMs: this.awaited?.sinceMs ?? nowMs }
    this.options.sendEcho(this.sent)
  }
}

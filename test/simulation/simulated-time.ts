/** A process of the simulation: what it does next is done only while it lives, and later while it is paused. */
export class SimulatedProcess {
  readonly name: string
  isAlive = true
  pausedUntilMs = 0
  /** What the clock of its machine, which counts from its start, is ahead of others. */
  readonly aheadMs: number

  constructor(name: string) {
    this.name = name
    this.aheadMs = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1_000, 0)
  }
}

interface Event {
  atMs: number
  order: number
  owner: SimulatedProcess | null
  run: () => void
  isCancelled: boolean
}

const real = {
  setImmediate,
  setTimeout,
  setInterval,
  clearTimeout,
  clearInterval,
  now: Date.now,
  hrtime: process.hrtime.bigint,
}

/** Waits until every promise reaction that can run has run. */
const settled = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve))

/** 2026-01-05: ids made from it look like ids. */
export const START_MS = 1_767_600_000_000

/**
 * The clock and the only source of events. One event runs at a time, then everything that follows from it
 * within its process; so a seed determines a run. While installed it stands in for the global timers, for
 * `Date.now` and for `process.hrtime.bigint`. Timers belong to the process that set them and die with it.
 */
export class SimulatedTime {
  nowMs = START_MS
  steps = 0
  /** Whose event ran last; null for what happens at a server. */
  last: SimulatedProcess | null = null
  /** The process whose event runs. */
  current: SimulatedProcess | null = null
  private heap: Event[] = []
  private orders = 0

  /** Schedules an event. Events of one time run in the order they were scheduled. */
  after(delayMs: number, owner: SimulatedProcess | null, run: () => void): Event {
    const event = {
      atMs: this.nowMs + Math.max(0, Math.round(delayMs)),
      order: this.orders++,
      owner,
      run,
      isCancelled: false,
    }
    push(this.heap, event)
    return event
  }

  /** Runs something now as if its process had an event, and all that follows at once from it. */
  async runAs<T>(owner: SimulatedProcess | null, run: () => T): Promise<T> {
    this.current = owner
    try {
      const result = run()
      await settled()
      return result
    } finally {
      this.current = null
    }
  }

  /** Runs the next event; false when there is none until then. */
  async step(untilMs: number): Promise<boolean> {
    for (;;) {
      const event = this.heap[0]
      if (!event || event.atMs > untilMs) return false
      pop(this.heap)
      const { owner } = event
      if (event.isCancelled || owner?.isAlive === false) continue
      this.nowMs = event.atMs
      if (owner && owner.pausedUntilMs > this.nowMs) {
        event.atMs = owner.pausedUntilMs
        event.order = this.orders++
        push(this.heap, event)
        continue
      }
      this.steps += 1
      this.last = owner
      await this.runAs(owner, event.run)
      return true
    }
  }

  /** Replaces the global timers; returns how to put them back. */
  install(): () => void {
    const global = globalThis as unknown as Record<string, unknown>
    global.setTimeout = (run: () => void, delayMs = 0) => this.timer(delayMs, run, false)
    global.setInterval = (run: () => void, delayMs = 0) => this.timer(delayMs, run, true)
    global.setImmediate = (run: () => void) => this.timer(0, run, false)
    global.clearTimeout = (timer?: SimulatedTimer) => timer?.cancel?.()
    global.clearInterval = global.clearTimeout
    Date.now = () => this.nowMs
    process.hrtime.bigint = () => BigInt(this.nowMs + (this.current?.aheadMs ?? 0)) * 1_000_000n
    return () => {
      const { now, hrtime, ...timers } = real
      Object.assign(globalThis, timers)
      Date.now = now
      process.hrtime.bigint = hrtime
    }
  }

  private timer(delayMs: number, run: () => void, repeats: boolean): SimulatedTimer {
    const owner = this.current
    let event: Event
    const schedule = () => {
      event = this.after(delayMs, owner, () => {
        if (repeats) schedule()
        run()
      })
    }
    schedule()
    const timer: SimulatedTimer = {
      cancel: () => {
        event.isCancelled = true
      },
      ref: () => timer,
      unref: () => timer,
    }
    return timer
  }
}

interface SimulatedTimer {
  cancel(): void
  ref(): SimulatedTimer
  unref(): SimulatedTimer
}

/** Stands in for `setTimeout` of node:timers/promises, over whatever the global timers are. */
export function simulatedDelay(
  ms?: number,
  value?: unknown,
  options?: { signal?: AbortSignal },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { signal } = options ?? {}
    const timer = setTimeout(() => resolve(value), ms)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

const before = (a: Event, b: Event): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)

function push(heap: Event[], event: Event): void {
  let index = heap.push(event) - 1
  while (index > 0) {
    const parent = (index - 1) >> 1
    if (!before(event, heap[parent]!)) break
    heap[index] = heap[parent]!
    index = parent
  }
  heap[index] = event
}

function pop(heap: Event[]): void {
  const last = heap.pop()!
  if (heap.length === 0) return
  let index = 0
  for (;;) {
    let child = index * 2 + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1
    if (!before(heap[child]!, last)) break
    heap[index] = heap[child]!
    index = child
  }
  heap[index] = last
}

import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import type { threadTasks } from './thread-tasks.ts'

type Tasks = typeof threadTasks
type Input<Name extends keyof Tasks> = Parameters<Tasks[Name]>[0]
type Output<Name extends keyof Tasks> = Awaited<ReturnType<Tasks[Name]>>

export interface TaskOptions {
  /** The lightest of the waiting tasks is next. About the characters it takes. */
  weight: number
  /** How long it may run, in ms. Its thread is stopped then. */
  limitMs: number
  /** Handed over instead of copied. */
  transfer?: ArrayBuffer[]
}

export type TaskOutcome<T> =
  | { kind: 'done'; value: T }
  /** Too many were waiting, or it waited or ran too long. */
  | { kind: 'refused' }

interface WaitingTask {
  weight: number
  start: () => void
}

const TASKS = fileURLToPath(new URL('./thread-tasks.ts', import.meta.url))
const THREADS = Math.min(2, availableParallelism())
const WAITING_MAX = 1_000
const WAITED_MAX_MS = 5_000
/** A thread ends when it is not needed. */
const IDLE_MS = 60_000
/** The young generation is small, since what a thread does not use it does not give back. */
const THREAD_HEAP = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16 }

/**
 * Threads for what would keep the event loop from everybody else: counting tokens, repairing JSON, parsing large
 * bodies. Started by a task that finds none. The lightest waiting task runs first, so that a few heavy ones delay nobody
 * who asks for little; every task has a deadline, and one that overruns it is stopped with its thread.
 */
export class ThreadPool {
  readonly #idleMs: number
  #pool: Piscina | null = null
  #started: Promise<unknown> | null = null
  #running = 0
  readonly #waiting: WaitingTask[] = []

  constructor(idleMs = IDLE_MS) {
    this.#idleMs = idleMs
  }

  /** Threads that run now. */
  get size(): number {
    return this.#pool?.threads.length ?? 0
  }

  /** Rejects only when a task throws or its thread dies. */
  run<Name extends keyof Tasks>(
    name: Name,
    input: Input<Name>,
    options: TaskOptions,
  ): Promise<TaskOutcome<Output<Name>>> {
    if (this.#waiting.length >= WAITING_MAX) return Promise.resolve({ kind: 'refused' })
    return new Promise((resolve, reject) => {
      const task: WaitingTask = {
        weight: options.weight,
        start: () => {
          clearTimeout(waited)
          this.#running++
          this.#run(name, input, options)
            .then(resolve, reject)
            .finally(() => {
              this.#running--
              this.#startNext()
            })
        },
      }
      const waited = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(task), 1)
        resolve({ kind: 'refused' })
      }, WAITED_MAX_MS)
      const place = this.#waiting.findLastIndex(({ weight }) => weight <= task.weight) + 1
      this.#waiting.splice(place, 0, task)
      this.#startNext()
    })
  }

  #startNext(): void {
    while (this.#running < THREADS) {
      const next = this.#waiting.shift()
      if (!next) return
      next.start()
    }
  }

  async #run<Name extends keyof Tasks>(
    name: Name,
    input: Input<Name>,
    { limitMs, transfer = [] }: TaskOptions,
  ): Promise<TaskOutcome<Output<Name>>> {
    this.#pool ??= createPool(this.#idleMs)
    const pool = this.#pool
    // No deadline counts the start of the first thread.
    if (pool.threads.length === 0) this.#started = pool.run({ name: 'start', input: undefined })
    await this.#started
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), limitMs)
    try {
      const options = { signal: deadline.signal, transferList: transfer }
      return { kind: 'done', value: await pool.run({ name, input }, options) }
    } catch (error) {
      if (deadline.signal.aborted) return { kind: 'refused' }
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

const createPool = (idleTimeout: number): Piscina =>
  new Piscina({
    filename: TASKS,
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout,
    recordTiming: false,
    resourceLimits: THREAD_HEAP,
  })

/** The threads of this process: they belong to its processor, not to any one part of it. */
export const threads = new ThreadPool()

import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import type { threadTasks } from './thread-tasks.ts'

type Tasks = typeof threadTasks
type Input<Name extends keyof Tasks> = Parameters<Tasks[Name]>[0]
type Output<Name extends keyof Tasks> = Awaited<ReturnType<Tasks[Name]>>

export interface TaskOptions {
  /** The lightest waiting task runs next. Roughly the number of characters it processes. */
  weight: number
  /** Maximum run time, in ms. Its thread is stopped afterwards. */
  limitMs: number
  /** Buffers to transfer instead of copy. */
  transfer?: ArrayBuffer[]
}

export type TaskOutcome<T> =
  | { kind: 'done'; value: T }
  /** Too many tasks were waiting, or this one waited or ran too long. */
  | { kind: 'refused' }

interface WaitingTask {
  weight: number
  start: () => void
}

const TASKS = fileURLToPath(new URL('./thread-tasks.ts', import.meta.url))
const THREADS = Math.min(2, availableParallelism())
const WAITING_MAX = 1_000
const WAITED_MAX_MS = 5_000
/** An idle thread ends after this time. */
const IDLE_MS = 60_000
/** The young generation is small, since a thread does not return unused memory. */
const THREAD_HEAP = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16 }

/**
 * Runs tasks in threads that would block the event loop: counting tokens, repairing JSON, parsing large bodies. A task
 * starts a thread if none is idle. The lightest waiting task runs first, so that a few heavy tasks do not delay light
 * ones. Every task has a deadline; a task that exceeds it is stopped with its thread.
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
    // The start of the first thread does not count against a deadline.
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

/** The thread pool of this process, shared by all its parts because they share its processor. */
export const threads = new ThreadPool()

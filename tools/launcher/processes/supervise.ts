import { setTimeout as delay } from 'node:timers/promises'
import type { GuardRank, ProcessGuard } from './process-guard.ts'
import type { ProcessPlan } from './spawn-plan.ts'
import { describeEnd, type OutputListener, type RunningProcess, spawnPlan } from './spawn-plan.ts'

const BACKOFF_MS = [100, 500, 1000, 2000, 5000, 10_000]
/** After this long a process counts as well again, and its next failure as its first. */
const HEALTHY_AFTER_MS = 60_000

export interface SuperviseOptions {
  guard: ProcessGuard
  rank: GuardRank
  onOutput: OutputListener
  /** Receives lines for a person: that it ended, that it is back. */
  log: (line: string) => void
}

/** A process that is started again whenever it ends, until it is stopped. */
export type Supervised = ReturnType<typeof supervise>

/** Starts a process and keeps it running. */
export function supervise(plan: ProcessPlan, { guard, rank, onOutput, log }: SuperviseOptions) {
  const stopping = new AbortController()
  const { signal } = stopping
  let current: RunningProcess | null = null
  const start = () => spawnPlan(plan, { signal, onOutput, onSpawn: (pid) => guard.add(pid, rank) })
  const first = start()
  const loop = first.then(keepRunning, () => undefined)

  async function keepRunning(running: RunningProcess): Promise<void> {
    let failures = 0
    current = running
    while (current) {
      const startedAt = performance.now()
      const end = await current.ended
      guard.remove(current.pid)
      if (signal.aborted) return
      failures = performance.now() - startedAt > HEALTHY_AFTER_MS ? 1 : failures + 1
      log(`${plan.name} ended (${describeEnd(end)}); starting it again`)
      current = await startAgain(failures)
    }
  }

  /** Tries until it serves again; null once we are stopped. */
  async function startAgain(failures: number): Promise<RunningProcess | null> {
    for (let attempt = failures; ; attempt++) {
      try {
        await delay(BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length) - 1], undefined, { signal })
        const running = await start()
        log(`${plan.name} is back`)
        return running
      } catch (error) {
        if (signal.aborted) return null
        log((error as Error).message)
      }
    }
  }

  return {
    name: plan.name,
    /** Resolves when it serves for the first time; rejects when it can't: then something is set up wrong. */
    ready: first.then(() => undefined),
    /** Stops it within its plan's limit, also in the middle of a start. */
    async stop(): Promise<void> {
      stopping.abort()
      await current?.stop()
      await loop
    },
  }
}
